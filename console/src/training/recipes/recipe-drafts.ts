/** An unpublished change of a recipe, kept in this browser. */
export interface RecipeDraft {
  text: string;
  /** The digest of the version that the draft is based on; null for a new recipe. */
  base: string | null;
}

const prefix = (user: string, project: string) => `skein.recipe ${user} ${project} `;

/** Null without a readable draft. */
export function readDraft(user: string, project: string, name: string): RecipeDraft | null {
  try {
    const kept = JSON.parse(
      localStorage.getItem(prefix(user, project) + name) ?? 'null',
    ) as unknown;
    const { text, base } = (kept ?? {}) as Partial<RecipeDraft>;
    return typeof text === 'string' ? { text, base: typeof base === 'string' ? base : null } : null;
  } catch {
    return null;
  }
}

/** Returns false when the browser cannot store it. */
export function keepDraft(
  user: string,
  project: string,
  name: string,
  draft: RecipeDraft,
): boolean {
  try {
    localStorage.setItem(prefix(user, project) + name, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export const dropDraft = (user: string, project: string, name: string): void =>
  localStorage.removeItem(prefix(user, project) + name);

export function draftNames(user: string, project: string): string[] {
  const before = prefix(user, project);
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(before))
    .map((key) => key.slice(before.length))
    .toSorted();
}

import type { Answers } from './questions.ts';

const PREFIX = 'skein.annotation ';

/** What was chosen and typed for an item and is not stored yet. It survives a reload, and the end of a session. */
export function readDraft(itemId: string): Answers {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PREFIX + itemId) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Answers) : {};
  } catch {
    return {};
  }
}

export function keepDraft(itemId: string, answers: Answers): void {
  try {
    localStorage.setItem(PREFIX + itemId, JSON.stringify(answers));
  } catch {
    // a full storage: the page itself still has them
  }
}

export const forgetDraft = (itemId: string): void => localStorage.removeItem(PREFIX + itemId);

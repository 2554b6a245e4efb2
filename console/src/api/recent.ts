const KEY = 'skein.projects';
const MOST = 20;

/** The projects that were opened in this browser, the latest first. */
export function recentProjects(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

export function noteProject(project: string): void {
  const others = recentProjects().filter((name) => name !== project);
  localStorage.setItem(KEY, JSON.stringify([project, ...others].slice(0, MOST)));
}

export function forgetProject(project: string): void {
  localStorage.setItem(KEY, JSON.stringify(recentProjects().filter((name) => name !== project)));
}

/** What the service takes as the name of a project. */
export const isProject = (text: string): boolean => /^[\w.-]{1,128}\/[\w.-]{1,128}$/.test(text);

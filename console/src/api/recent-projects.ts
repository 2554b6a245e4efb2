import { storeSetting, readSetting } from '../ui/settings.ts';

const NAME = 'projects';
const MAX_PROJECTS = 20;

/** Projects opened in this browser, latest first. */
export function recentProjects(): string[] {
  const found = readSetting(NAME);
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
}

const others = (project: string) => recentProjects().filter((name) => name !== project);

export const noteProject = (project: string): void =>
  storeSetting(NAME, [project, ...others(project)].slice(0, MAX_PROJECTS));

export const forgetProject = (project: string): void => storeSetting(NAME, others(project));

/** True for a text that the service accepts as a project's name. */
export const isProject = (text: string): boolean =>
  /^(?!\.{1,2}\/)[\w.-]{1,128}\/(?!\.{1,2}$)[\w.-]{1,128}$/.test(text);

import { existsSync } from 'node:fs';

/**
 * True in a git clone, which runs commands as npm scripts. An installed package and an image run the program `skein`.
 */
const IS_CLONE = existsSync(
  new URL(import.meta.url.endsWith('.ts') ? '../../src' : '../../../src', import.meta.url),
);

/**
 * Returns a command of the service as users type it: `npm run keys -- list` in a clone, otherwise `skein keys list`.
 */
export function commandText(command: string, ...args: string[]): string {
  const name = IS_CLONE ? `npm ${command === 'start' ? '' : 'run '}${command}` : `skein ${command}`;
  return [name, ...(IS_CLONE && args.length > 0 ? ['--'] : []), ...args].join(' ');
}

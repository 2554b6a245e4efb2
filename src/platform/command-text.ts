import { existsSync } from 'node:fs';

/** A clone has npm scripts for our commands; an installed package and an image have the program `skein`. */
const IS_CLONE = existsSync(
  new URL(import.meta.url.endsWith('.ts') ? '../../src' : '../../../src', import.meta.url),
);

/** How a command of ours is typed here: `npm run keys -- list`, or `skein keys list`. */
export function commandText(command: string, ...args: string[]): string {
  const name = IS_CLONE ? `npm ${command === 'start' ? '' : 'run '}${command}` : `skein ${command}`;
  return [name, ...(IS_CLONE && args.length > 0 ? ['--'] : []), ...args].join(' ');
}

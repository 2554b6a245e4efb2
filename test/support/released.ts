import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The newest released version. */
const RELEASED = '0.3.0';
const FILE = (version: string) => join('test/fixtures', version, 'build.tgz');

/** Stores this build as that of a version, without the console and source maps. It needs our `node_modules`. */
export const storeBuild = (version: string) =>
  execFileSync('tar', [
    ...['-czf', FILE(version), '--owner=0', '--group=0', '--exclude=*.map', '--exclude=*.d.ts'],
    ...['--exclude=dist/console', '--exclude=.tsbuildinfo', 'dist', 'package.json'],
  ]);

/**
 * Unpacks the released build into a folder, and returns the folder. `TEST_OLD_BUILD` names a folder with the `dist/`
 * of another build, which is tested in its place.
 */
export function releasedBuild(folder: string): string {
  const other = process.env['TEST_OLD_BUILD'];
  if (other) return resolve(other);
  const path = join(folder, RELEASED);
  mkdirSync(path);
  execFileSync('tar', ['-xzf', resolve(FILE(RELEASED)), '-C', path]);
  symlinkSync(resolve('node_modules'), join(path, 'node_modules'));
  return path;
}

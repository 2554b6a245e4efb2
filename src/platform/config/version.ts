import { readFileSync } from 'node:fs';

/** Version of the service. A test compares it with package.json. */
export const VERSION = '0.3.0';

/** Commit of this build, from the file that `scripts/build-stamp.mjs` writes; otherwise `unknown`. */
export const COMMIT = commitIn(new URL('../../../build.json', import.meta.url));

function commitIn(file: URL): string {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { commit: string }).commit;
  } catch {
    return 'unknown'; // sources without a build, as in tests
  }
}

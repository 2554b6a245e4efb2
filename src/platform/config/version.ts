import { readFileSync } from 'node:fs';

/** The version of the service; a test keeps it equal to package.json's. */
export const VERSION = '0.2.0';

/** The commit that this build was made of, as `scripts/build-stamp.mjs` wrote it beside the build; else `unknown`. */
export const COMMIT = commitIn(new URL('../../../build.json', import.meta.url));

function commitIn(file: URL): string {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { commit: string }).commit;
  } catch {
    return 'unknown'; // code that was not built: tests run the sources
  }
}

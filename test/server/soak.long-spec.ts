import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a short version of the second half of `bench/soak.mjs`. */
it('survives a PostgreSQL that stands still under load, and loses nothing acknowledged', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    'bench/soak.mjs',
    '--minutes',
    '0',
    '--stopped',
    '3',
  ]);
  expect(stdout).toMatch(/"503":[1-9].* 0 of [1-9]\d* acknowledged calls missing\nall good/);
});

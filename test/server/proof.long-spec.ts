import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A short run of `npm run proof`. People start longer ones. The mode `restart` is tested in test/server/restart. */
it.concurrent.each([
  ['server', 'a kill of the server'],
  ['postgres', 'a kill of PostgreSQL'],
  ['intruders', 'services and commands that try to take the data folder'],
])('mode %s: what was acknowledged survives %s, on every write path', async (mode) => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    'bench/proof.mjs',
    '--mode',
    mode,
    '--seconds',
    '1',
    '--rest',
    '100',
  ]);
  expect(stdout).toMatch(/all [1-9]\d* acknowledged writes are there, once and whole/);
  if (mode !== 'intruders')
    expect(stdout).toMatch(/the last one, restored, has all [1-9]\d* writes/);
});

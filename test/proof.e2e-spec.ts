import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A short run of `npm run proof`; longer ones are for people. */
it.each(['server', 'postgres'])(
  'what was acknowledged survives a kill of the %s, on every write path',
  async (mode) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      'bench/proof.mjs',
      '--mode',
      mode,
      '--seconds',
      '4',
    ]);
    expect(stdout).toMatch(/all [1-9]\d* acknowledged writes are there, once and whole/);
  },
);

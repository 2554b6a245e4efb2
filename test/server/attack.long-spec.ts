import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The quick cases of `npm run attack`: answers, survival and memory; how long things take is for people to see. */
it('survives what a key holder may send, and answers it as declared', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    'bench/attack.mjs',
    '--quick',
    '--health-ms',
    '30000',
  ]).catch((error: { stdout: string; stderr: string }) => {
    process.stderr.write(error.stderr);
    return error;
  });
  expect(stdout.match(/^FAIL .*/gm)).toBeNull();
  expect(stdout).toMatch(/^([1-9]\d*) of \1 attacks held/m);
}, 1_800_000); // 60 attacks of 5 s and more, each on its own: 8 minutes on two busy cores

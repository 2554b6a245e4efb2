import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The quick cases of `npm run attack`: answers, survival and memory; how long things take is for people to see. */
it('survives what a key holder may send, and answers it as declared', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    'bench/attack.mjs',
    '--quick',
    '--health-ms',
    '30000',
  ]).catch((error: { stdout: string; stderr: string }) => error);
  expect(stdout.match(/^FAIL .*/gm)).toBeNull();
  if (!/^([1-9]\d*) of \1 attacks held/m.test(stdout)) throw new Error(`${stdout}${stderr}`);
});

// Runs the steps of `npm run check`, one on each core, and prints the output of each when it ends. All steps run, even
// when one fails.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The longest steps first, so that none is left alone at the end. */
const STEPS = [
  'types:tests',
  'types:service',
  'lint',
  'types:console',
  'format',
  'rules',
  'unused',
  'generated',
  'words',
];

/** @type {string[]} */
const failed = [];

/** @param {string} step */
async function run(step) {
  const began = performance.now();
  const child = spawn('npm', ['run', '--silent', `check:${step}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const status = await new Promise((resolve) => child.on('close', resolve));
  if (status !== 0) failed.push(step);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`check:${step}: ${status === 0 ? 'good' : 'FAILED'}, ${seconds} s\n${output}`);
}

const waiting = STEPS.values();
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (const step of waiting) await run(step);
  }),
);
if (failed.length > 0) {
  console.log(`failed: ${failed.join(', ')}`);
  process.exit(1);
}

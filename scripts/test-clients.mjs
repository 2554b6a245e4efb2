// Runs the tests of the clients for Python, in a virtual environment of their own. Where Python 3.11 or its package
// registry is missing, says so and passes: these tests need more than Node.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const VENV = resolve('node_modules/.cache/skein-clients');
const python = process.env.PYTHON ?? 'python3';

const run = (command, args, options = {}) =>
  spawnSync(command, args, { stdio: 'inherit', ...options }).status === 0;
const skip = (why) => {
  console.log(`test:clients skipped: ${why}`);
  process.exit(0);
};

if (
  !run(python, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 11))'], {
    stdio: 'ignore',
  })
)
  skip(`${python} is not Python 3.11 or later (PYTHON names another)`);
if (!existsSync(VENV) && !run(python, ['-m', 'venv', VENV]))
  skip('no virtual environment can be made');
const pip = ['-m', 'pip', 'install', '--quiet', '-r', 'test/clients/requirements.txt'];
if (!run(`${VENV}/bin/python`, pip)) skip('the packages cannot be installed');
// what is used of TRL needs no PyTorch, which it would bring along
const trl = ['-m', 'pip', 'install', '--quiet', '--no-deps', 'trl==1.16.0'];
if (!run(`${VENV}/bin/python`, trl)) skip('TRL cannot be installed');

const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'e2e', '--testPathPatterns'];
const isGreen = run(process.execPath, [...jest, 'test/clients/python'], {
  env: { ...process.env, SKEIN_CLIENTS_VENV: VENV },
});
process.exit(isGreen ? 0 : 1);

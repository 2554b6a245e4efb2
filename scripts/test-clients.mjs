// Runs the tests of the published clients, and prints as a table what was run with which version. With --write the table goes
// into docs/clients/README.md. The clients for Python get a virtual environment of their own; where Python 3.11 or its package
// registry is missing, says so and runs the others: these tests need more than Node. PYTHON names another Python,
// SKEIN_CLIENTS_VENV an environment that has all packages already. With --trainers, which needs Python 3.12, trainers read
// the exports of a build too: PyTorch and they take 8 GB, in an environment of their own, or in SKEIN_TRAINERS_VENV.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const given = process.env.SKEIN_CLIENTS_VENV;
const VENV = given ?? resolve('node_modules/.cache/skein-clients');
const PAGE = 'docs/clients/README.md';
const inVenv = `${VENV}/bin/python`;
/** What several versions of one package want is kept apart from the others. */
const APART = { 'langfuse 2': ['langfuse-2', 'langfuse==2.60.10'] };

const run = (command, args, options = {}) =>
  spawnSync(command, args, { stdio: 'inherit', ...options }).status === 0;
const TRAINERS_VENV =
  process.env.SKEIN_TRAINERS_VENV ?? resolve('node_modules/.cache/skein-trainers');
const python = process.env.PYTHON ?? 'python3';
const pipOf =
  (venv) =>
  (...args) =>
    run(`${venv}/bin/python`, ['-m', 'pip', 'install', '--quiet', ...args]);

const why = given ? null : clientsProblem();
if (why) console.log(`the clients for Python are skipped: ${why}`);
const whyNoTrainers = trainersProblem();
if (whyNoTrainers) console.log(`the trainers are skipped: ${whyNoTrainers}`);

function venvProblem(venv, minor) {
  const isNew = `import sys, venv; sys.exit(sys.version_info < (3, ${minor}))`;
  if (!run(python, ['-c', isNew], { stdio: 'ignore' }))
    return `${python} is not Python 3.${minor} or later`;
  if (!existsSync(venv) && !run(python, ['-m', 'venv', venv]))
    return 'no virtual environment can be made';
  return null;
}

function trainersProblem() {
  if (process.env.SKEIN_TRAINERS_VENV) return null;
  if (!process.argv.includes('--trainers')) return 'add -- --trainers, which installs 8 GB';
  const problem = venvProblem(TRAINERS_VENV, 12);
  if (problem) return problem;
  const pip = pipOf(TRAINERS_VENV);
  if (!pip('-r', 'test/clients/trainers.txt')) return 'the packages cannot be installed';
  // what is used of it needs no renderer
  return pip('--no-deps', 'tinker-cookbook==0.6.1') ? null : 'the cookbook cannot be installed';
}

function clientsProblem() {
  const problem = venvProblem(VENV, 11);
  if (problem) return problem;
  const pip = pipOf(VENV);
  if (!pip('-r', 'test/clients/requirements.txt')) return 'the packages cannot be installed';
  // what is used of TRL needs no PyTorch, which it would bring along
  if (!pip('--no-deps', 'trl==1.16.0')) return 'TRL cannot be installed';
  for (const [folder, wanted] of Object.values(APART))
    if (!existsSync(join(VENV, folder)) && !pip('--target', join(VENV, folder), wanted))
      return `${wanted} cannot be installed`;
  return null;
}

const folder = mkdtempSync(join(tmpdir(), 'skein-clients-'));
const results = join(folder, 'results.json');
const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'long', '--testPathPatterns'];
const isGreen = run(
  process.execPath,
  [...jest, 'test/clients', '--json', '--outputFile', results],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...(!why && { SKEIN_CLIENTS_VENV: VENV }),
      ...(!whyNoTrainers && { SKEIN_TRAINERS_VENV: TRAINERS_VENV }),
    },
  },
);
const { testResults } = JSON.parse(readFileSync(results, 'utf8'));
rmSync(folder, { recursive: true });

/** `PyPI weave`, `npm weave`, `PyPI langfuse 2`: the name of a group of tests. */
function versionOf(client) {
  const [registry, name] = [client.split(' ', 1)[0], client.split(' ').slice(1).join(' ')];
  if (registry === 'npm')
    return JSON.parse(readFileSync(`node_modules/${name.split(' ')[0]}/package.json`, 'utf8'))
      .version;
  if (registry !== 'PyPI') return '';
  const [apart] = APART[name] ?? [];
  const code = `from importlib.metadata import version; print(version('${name.split(' ')[0]}'))`;
  const env = { ...process.env, ...(apart && { PYTHONPATH: join(VENV, apart) }) };
  return spawnSync(inVenv, ['-c', code], { env, encoding: 'utf8' }).stdout.trim();
}

const OUTCOMES = { passed: 'passed', failed: 'FAILED', pending: 'not run' };
const rows = testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .filter(({ status }) => status in OUTCOMES)
  .map(({ ancestorTitles: [client], title, status }) => [
    client,
    status === 'pending' ? '' : versionOf(client),
    title,
    OUTCOMES[status],
  ])
  .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
const head = ['client', 'version', 'what was run', 'result'];
const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
const table = [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join(
  '\n',
);
console.log(table);

if (process.argv.includes('--write')) {
  const page = readFileSync(PAGE, 'utf8');
  const [before, after] = [
    /^[^]*<!-- matrix -->\n/.exec(page)[0],
    /\n<!-- end of matrix -->[^]*$/.exec(page)[0],
  ];
  writeFileSync(PAGE, `${before}\n${table}\n${after}`);
}
process.exit(isGreen ? 0 : 1);

// Runs the tests of the published clients, with the pinned versions and with the newest ones. Prints a table of the
// tests and the versions that they ran with. With --write the table goes into docs/clients/README.md; tests that did
// not run keep their rows in it.
//
//   npm run test:clients -- [--pinned] [--only <words of a file>] [--write] [--trainers]
//
// Each set of packages gets its own environment in node_modules/.cache. Without Python 3.11, Node 22 (for some tests)
// or a registry, the script prints which tests it skips, and runs the others. PYTHON names another Python.
// SKEIN_CLIENTS_VENV, SKEIN_OTLP_VENV and SKEIN_OTLP_NPM name existing environments for the pinned versions. With
// --trainers, which needs Python 3.12, trainers also read the exports of a build. With PyTorch they take 8 GB, in an
// environment of their own, or in SKEIN_TRAINERS_VENV.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    pinned: { type: 'boolean' },
    only: { type: 'string', default: '' },
    write: { type: 'boolean' },
    trainers: { type: 'boolean' },
  },
});
const PAGE = 'docs/clients/README.md';
const CACHE = resolve('node_modules/.cache');
const python = process.env.PYTHON ?? 'python3';
/** Older versions of packages, each installed into its own folder, keyed by their names in the tests. */
const APART = { 'langfuse 2': ['langfuse-2', 'langfuse==2.60.10'] };
/** Packages that the programs in test/clients use. Their pinned versions are development dependencies. */
const OF_PROGRAMS = [
  'langfuse',
  'weave',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-grpc',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-base',
];

const run = (command, args, more = {}) =>
  spawnSync(command, args, { stdio: 'inherit', ...more }).status === 0;
const lines = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean);
const pipOf =
  (venv) =>
  (...args) =>
    run(`${venv}/bin/python`, ['-m', 'pip', 'install', '--quiet', ...args]);

/** Runs `make`. When it fails, prints why, and returns null. */
function attempt(what, make) {
  try {
    return make();
  } catch (error) {
    console.log(`${what} skipped: ${error.message}`);
    return null;
  }
}

function assertDone(isDone, why) {
  if (!isDone) throw new Error(why);
}

function venvOf(name, minor, install) {
  const folder = join(CACHE, name);
  const isNew = `import sys; sys.exit(sys.version_info < (3, ${minor}))`;
  assertDone(run(python, ['-c', isNew], { stdio: 'ignore' }), `${python} is not Python 3.${minor}`);
  const isThere = existsSync(folder) || run(python, ['-m', 'venv', folder]);
  assertDone(isThere, 'no virtual environment can be made');
  install(pipOf(folder), folder);
  return folder;
}

/** Returns the packages of a file with their versions, or without versions for the newest ones. */
const requirements = (file, isNewest) =>
  isNewest ? lines(file).map((line) => line.replace(/==[^;\s]+/, '')) : ['-r', file];

const clientsVenv = (isNewest) =>
  venvOf(isNewest ? 'skein-clients-newest' : 'skein-clients', 11, (pip, folder) => {
    const wanted = requirements('test/clients/requirements.txt', isNewest);
    const how = isNewest ? ['--upgrade'] : [];
    assertDone(pip(...how, ...new Set(wanted)), 'the packages cannot be installed');
    // the used part of TRL needs no PyTorch, which would be installed as a dependency
    assertDone(pip('--no-deps', 'trl==1.16.0'), 'TRL cannot be installed');
    for (const [apart, version] of Object.values(APART))
      if (!existsSync(join(folder, apart)))
        assertDone(pip('--target', join(folder, apart), version), `${version} cannot be installed`);
  });

const otlpVenv = (isNewest) =>
  venvOf(isNewest ? 'skein-otlp-newest' : 'skein-otlp', 11, (pip) => {
    const wanted = requirements('test/clients/otlp-requirements.txt', isNewest);
    const how = isNewest ? ['--upgrade'] : [];
    assertDone(pip(...how, ...wanted), 'the packages cannot be installed');
  });

/** Installs frameworks of agents with the instrumentations that users combine with them. */
const agentsVenv = (isNewest) =>
  venvOf(isNewest ? 'skein-agents-newest' : 'skein-agents', 11, (pip) => {
    const wanted = requirements('test/clients/agents-requirements.txt', isNewest);
    const how = isNewest ? ['--upgrade'] : [];
    assertDone(pip(...how, ...wanted), 'the packages cannot be installed');
  });

const trainersVenv = () => {
  assertDone(options.trainers, 'add -- --trainers, which installs 8 GB');
  return venvOf('skein-trainers', 12, (pip) => {
    assertDone(pip('-r', 'test/clients/trainers.txt'), 'the packages cannot be installed');
    // the used part of the cookbook needs no renderer
    assertDone(pip('--no-deps', 'tinker-cookbook==0.6.1'), 'the cookbook cannot be installed');
  });
};

function npmInstall(folder, packages) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const how = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--silent'];
  const isDone = run('npm', ['install', '--prefix', folder, ...how, ...packages], { cwd: folder });
  assertDone(isDone, `${packages[0]} cannot be installed`);
}

const newest = (name) => `${name.replace(/(?<=.)@.*$/, '')}@latest`;

/** Makes a folder for each program, because their packages conflict. */
function otlpFolder(isNewest) {
  assertDone(Number(process.versions.node.split('.')[0]) >= 22, 'it needs Node 22');
  const folder = join(CACHE, isNewest ? 'skein-otlp-npm-newest' : 'skein-otlp-npm');
  for (const line of lines('test/clients/otlp-packages.txt')) {
    const [program, ...packages] = line.split(/:? /);
    const own = join(folder, program);
    npmInstall(own, isNewest ? packages.map(newest) : packages);
    const installer = join(own, 'node_modules/@anthropic-ai/claude-code/install.cjs');
    if (existsSync(installer)) run(process.execPath, [installer], { stdio: 'ignore' });
  }
  return folder;
}

/** Makes a folder with the programs of test/clients and the newest versions of their packages. */
function programsFolder() {
  const folder = join(CACHE, 'skein-clients-npm-newest');
  npmInstall(folder, OF_PROGRAMS.map(newest));
  for (const name of readdirSync('test/clients'))
    if (name.endsWith('.mjs')) copyFileSync(`test/clients/${name}`, join(folder, name));
  return folder;
}

const given = (name, isNewest) => (isNewest ? undefined : process.env[name]);

const environmentOf = (isNewest) => ({
  SKEIN_CLIENTS_VENV:
    given('SKEIN_CLIENTS_VENV', isNewest) ??
    attempt('the clients for Python are', () => clientsVenv(isNewest)),
  SKEIN_OTLP_VENV:
    given('SKEIN_OTLP_VENV', isNewest) ??
    attempt('the exporters of Python are', () => otlpVenv(isNewest)),
  SKEIN_AGENTS_VENV:
    given('SKEIN_AGENTS_VENV', isNewest) ??
    attempt('the frameworks of agents for Python are', () => agentsVenv(isNewest)),
  SKEIN_OTLP_NPM:
    given('SKEIN_OTLP_NPM', isNewest) ??
    attempt('the exporters of Node are', () => otlpFolder(isNewest)),
  SKEIN_CLIENTS_NPM: isNewest ? attempt('the clients for Node are', programsFolder) : null,
  SKEIN_TRAINERS_VENV: isNewest
    ? null
    : (process.env.SKEIN_TRAINERS_VENV ?? attempt('the trainers are', trainersVenv)),
});

/**
 * Returns the version of the package that a group of tests is named after: `PyPI weave`, `npm weave`,
 * `PyPI langfuse 2`.
 */
function versionOf(client, environment, ownVenv) {
  const [registry, ...words] = client.split(' ');
  const [name] = words;
  if (registry === 'npm') return npmVersion(name, environment);
  if (registry !== 'PyPI') return '';
  const [apart] = APART[words.join(' ')] ?? [];
  const code = `from importlib.metadata import version; print(version('${name}'))`;
  const venv = ownVenv ?? environment.SKEIN_CLIENTS_VENV;
  const env = { ...process.env, ...(apart && { PYTHONPATH: join(venv, apart) }) };
  return spawnSync(`${venv}/bin/python`, ['-c', code], { env, encoding: 'utf8' }).stdout.trim();
}

function npmVersion(name, { SKEIN_CLIENTS_NPM, SKEIN_OTLP_NPM }) {
  const own = SKEIN_OTLP_NPM
    ? readdirSync(SKEIN_OTLP_NPM).map((one) => join(SKEIN_OTLP_NPM, one))
    : [];
  for (const folder of [SKEIN_CLIENTS_NPM, '.', ...own]) {
    const file = join(folder ?? '.', 'node_modules', name, 'package.json');
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')).version;
  }
  return '';
}

const OUTCOMES = { passed: 'passed', failed: 'FAILED', pending: 'not run' };

/** Reads the ratios that `expectStatistics` of test/support/client.ts has written, keyed by the name of the test. */
const ratiosIn = (file) =>
  new Map(
    (existsSync(file) ? lines(file) : []).map((line) => {
      const { title, ratio, environment } = JSON.parse(line);
      return [title, { ratio: ratio.toFixed(2), environment }];
    }),
  );

/**
 * Runs the tests, and returns the rows of the table: client, version, name of the test, ratio to the worked-out
 * price, result.
 */
function rowsOf(isNewest) {
  const environment = environmentOf(isNewest);
  const folder = mkdtempSync(join(tmpdir(), 'skein-clients-'));
  const results = join(folder, 'results.json');
  const given = Object.entries(environment).filter(([, value]) => value);
  const ratioFile = join(folder, 'ratios.jsonl');
  const env = {
    ...process.env,
    ...Object.fromEntries(given),
    SKEIN_CLIENTS_RATIOS: ratioFile,
  };
  const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'long', '--testPathPatterns'];
  const files = `test/clients/.*${options.only}`;
  run(process.execPath, [...jest, files, '--json', '--outputFile', results], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env,
  });
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'));
  const ratios = ratiosIn(ratioFile);
  rmSync(folder, { recursive: true });
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status in OUTCOMES)
    .map(({ ancestorTitles: [client], title, status }) => {
      const told = ratios.get(`${client} ${title}`);
      return [
        client,
        status === 'pending' ? '' : versionOf(client, environment, told?.environment),
        title,
        told?.ratio ?? '',
        OUTCOMES[status],
      ];
    });
}

const cellsOf = (line) =>
  line
    .slice(1, -1)
    .split(' | ')
    .map((cell) => cell.trim());
const page = readFileSync(PAGE, 'utf8');
const [, before, written, after] =
  /^([^]*<!-- matrix -->\n)([^]*)(\n<!-- end of matrix -->[^]*)$/.exec(page);

const [pinned, latest] = [rowsOf(false), options.pinned ? [] : rowsOf(true)];
const keyOf = ([client, , title]) => `${client} ${title}`;
const isRun = (row) => row.at(-1) !== OUTCOMES.pending;
/** Rows of the tests that ran. A package whose newest version is the pinned one ran twice, and gets one row. */
const ran = new Map([...pinned, ...latest].filter(isRun).map((row) => [row.join('|'), row]));
const hasRun = new Set([...ran.values()].map(keyOf));
const kept = written
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map(cellsOf)
  .filter((row) => isRun(row) && !hasRun.has(keyOf(row)));
const known = new Set([...hasRun, ...kept.map(keyOf)]);
const skipped = pinned.filter((row) => !isRun(row) && !known.has(keyOf(row)));
const rows = [...kept, ...ran.values(), ...skipped].toSorted(([a], [b]) =>
  a < b ? -1 : a > b ? 1 : 0,
);
const head = [
  'client',
  'version',
  'what was run',
  'statistics beside the worked-out price',
  'result',
];
const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
const table = [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join(
  '\n',
);
console.log(table);
if (options.write) writeFileSync(PAGE, `${before}\n${table}\n${after}`);
process.exit([...ran.values()].some((row) => row.at(-1) === OUTCOMES.failed) ? 1 : 0);

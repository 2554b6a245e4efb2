// Compares the cost of each kind of work with that of a fixed older build, and with the least possible cost. Writes
// docs/ledger.md. Changes are compared with the build before them too, but only a fixed build shows small losses that
// add up.
//
//     npm run bench:ledger [-- --rounds 6 --seconds 3]
//
// Builds the commit of bench/ledger.commit in the system's temporary folder first, unless it exists. Takes about ten
// minutes on an idle machine.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
  },
});
const ROOT = join(import.meta.dirname, '..');
const LEDGER = join(ROOT, 'docs/ledger.md');
const commit = readFileSync(join(import.meta.dirname, 'ledger.commit'), 'utf8').trim();
const short = commit.slice(0, 7);

const MAX_OUTPUT = 2 ** 28;
/** The environment without the settings of this npm, because the older build has its own. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)),
);
const run = (command, argv, cwd = ROOT) =>
  execFileSync(command, argv, {
    cwd,
    env,
    maxBuffer: MAX_OUTPUT,
    stdio: ['ignore', 'pipe', 'inherit'],
  }).toString();

/** Builds the older commit. The folder gets its final name only when it is complete. */
function olderBuild() {
  const folder = join(tmpdir(), `skein-${short}`);
  if (existsSync(folder)) return join(folder, 'dist');
  const making = `${folder}-${process.pid}`;
  process.on('exit', () => rmSync(making, { recursive: true, force: true }));
  mkdirSync(making);
  const archive = join(making, 'source.tar');
  run('git', ['archive', '--output', archive, commit]);
  run('tar', ['-xf', archive], making);
  rmSync(archive);
  run('npm', ['ci', '--no-audit', '--no-fund'], making);
  run('npx', ['nest', 'build'], making);
  renameSync(making, folder);
  return join(folder, 'dist');
}

const turns = ['--rounds', options.rounds, '--seconds', options.seconds];
const beside = run(process.execPath, ['bench/in-turns.mjs', '--build', olderBuild(), ...turns]);
const least = run(process.execPath, ['bench/performance.mjs']);
const head = run('git', ['describe', '--always', '--dirty']).trim();
writeFileSync(
  LEDGER,
  `# Ledger

What each kind of work costs, written by \`npm run bench:ledger\` (${cpus().length} cores of ${cpus()[0].model}). Compare ratios: the machine is shared.

## ${head} beside ${short}

A fixed older build, so that small losses show when they add up. The two take turns.

${beside}
## ${head} beside the least that it could cost

${least}`,
);
run('npx', ['prettier', '--write', LEDGER]);
console.log(readFileSync(LEDGER, 'utf8'));

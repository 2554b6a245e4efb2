// Measures the time after a clone: `npm ci`, the build, and `npm start` until the service is ready and has made its
// key.
//
//     node bench/first-start.mjs [rounds [rounds before]]
//
// Each round uses a clone of the last commit without data. The rounds before do not count: they fill npm's cache.
//
// The clones are removed after the last round. For minutes ext4 does not reuse a freed inode, and the search for others
// takes longer than npm ci. So do not measure soon after such folders were removed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { inTemporaryFolder } from '../scripts/temporary-folder.mjs';

const ROUNDS = Number(process.argv[2] ?? 3);
const ROUNDS_BEFORE = Number(process.argv[3] ?? 1);
const env = {
  HOME: process.env.HOME,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  PORT: '0',
  OTLP_GRPC_PORT: 'off',
};

console.log(`Node ${process.version}, ${cpus().length} cores`);
const rows = {};
let installed = { files: 0, bytes: 0 };
await inTemporaryFolder(async (folder) => {
  for (let number = 1 - ROUNDS_BEFORE; number <= ROUNDS; number += 1) {
    const row = await round(join(folder, String(number)));
    if (number > 0) rows[number] = row;
  }
});
rows.median = Object.fromEntries(
  Object.keys(rows[1]).map((column) => [column, median(Object.values(rows), column)]),
);
console.table(rows);
console.log(`node_modules: ${installed.files} files, ${Math.round(installed.bytes / 1e6)} MB`);

/** Runs one round and returns the seconds of each step. */
async function round(clone) {
  execFileSync('git', ['clone', '--quiet', '.', clone]);
  const npm = (...args) =>
    execFileSync('npm', args, { cwd: clone, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const times = [performance.now()];
  npm('ci', '--silent');
  times.push(performance.now());
  npm('run', '--silent', 'prestart');
  times.push(performance.now());
  const service = await started(clone);
  times.push(performance.now());
  process.kill(-Number(service.pid), 'SIGTERM');
  await once(service, 'exit');
  installed = sizeOf(join(clone, 'node_modules'));
  const [install, build, start] = times.slice(1).map((time, at) => (time - times[at]) / 1000);
  const row = { 'npm ci': install, build, start, all: install + build + start };
  return Object.fromEntries(Object.entries(row).map(([name, s]) => [name, Number(s.toFixed(1))]));
}

/** Runs `npm start` until the service is ready. */
async function started(cwd) {
  const child = spawn('npm', ['start'], {
    cwd,
    env,
    detached: true, // npm and the service are one process group, so that both can be ended together
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const isOver = once(child, 'exit').then(() => Promise.reject(new Error(`it ended: ${output}`)));
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  for (;;) {
    const url = /listens on (http:\/\/[^\s"]+)/.exec(output)?.[1];
    if (url && existsSync(join(cwd, 'data/first-key')) && (await fetch(`${url}/ready`)).ok) {
      isOver.catch(() => {});
      return child;
    }
    await Promise.race([once(child.stdout, 'data'), isOver]);
  }
}

function sizeOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  return { files: files.length, bytes: files.reduce((sum, size) => sum + size, 0) };
}

function median(values, column) {
  const sorted = values.map((row) => row[column]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

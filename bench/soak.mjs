// Runs full load for a long time. Then PostgreSQL stands still (SIGSTOP) under more load than may wait. The service
// must not end, its memory must stay bounded, requests beyond the limit must get 503, and all acknowledged data must
// exist afterwards. Exits with 1 when anything is wrong. `--stopped` is in seconds.
//
//     npm run build && node bench/soak.mjs [--minutes 10] [--stopped 10]
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { embeddedPostgresUrl } from '../dist/src/platform/postgres/embedded-postgres.js';
import { dataFolder, started } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    stopped: { type: 'string', default: '10' },
  },
});
const PROJECT = 'acme/soak';
const key = newSecret();
const dataDir = dataFolder();
const { child: service, url } = await started('../dist/src/main.js', {
  PORT: '0',
  DATA_DIR: dataDir,
  BOOTSTRAP_API_KEY: key,
});
const { hostname, port } = new URL(url);
const pool = new pg.Pool({ connectionString: await embeddedPostgresUrl(dataDir), max: 2 });
pool.on('error', () => {});

const agent = new http.Agent({ keepAlive: true });
const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`soak:${key}`).toString('base64')}`,
};
/** Returns the status (0 for a broken connection) and the header `Retry-After`. */
const post = (path, body) =>
  new Promise((resolve) => {
    const request = http.request(
      { hostname, port, path, method: 'POST', headers, agent },
      (answer) =>
        answer
          .resume()
          .on('end', () => resolve([answer.statusCode, answer.headers['retry-after']]))
          .on('error', () => resolve([0])),
    );
    request.on('error', () => resolve([0]));
    request.end(body);
  });

const INPUTS = JSON.stringify({
  messages: Array.from({ length: 5 }, (_, i) => ({
    role: 'user',
    content: `text ${i} `.repeat(40),
  })),
});
const aStart = (id) =>
  `{"start":{"project_id":"${PROJECT}","id":"${id}","trace_id":"${id}","op_name":"run","started_at":"2026-01-31T12:00:00Z","inputs":${INPUTS}}}`;
const aBatch = (id, size) =>
  `{"batch":[${Array.from({ length: size }, (_, i) => `{"mode":"start","req":${aStart(`${id}-${i}`)}}`)}]}`;

let sent = 0;
/**
 * Sends requests of `size` calls over `connections` until `isOver`. Collects acknowledged calls and counts statuses.
 */
async function load(connections, size, isOver, seen) {
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (!isOver()) {
        const id = `call-${++sent}`;
        const [status, retryAfter] =
          size === 1
            ? await post('/call/start', aStart(id))
            : await post('/call/upsert_batch', aBatch(id, size));
        seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
        if (status === 503 && !retryAfter) seen.statuses['503 without Retry-After'] = 1;
        if (status === 200) seen.acknowledged.push([id, size]);
        else await pause(100);
      }
    }),
  );
}
const count = (seen) => seen.acknowledged.reduce((sum, [, size]) => sum + size, 0);

const residentMiB = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))[1]) / 1024;
/** The highest resident memory while `work` runs, sampled five times a second. */
async function withPeak(work) {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, residentMiB())), 200);
  await work();
  clearInterval(timer);
  return Math.round(peak);
}

/** The PostgreSQL server process with all its children. */
function postgresProcesses() {
  const [first] = readFileSync(join(dataDir, 'pgdata', 'postmaster.pid'), 'utf8').split('\n');
  const isChild = (pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === first;
    } catch {
      return false; // it has ended
    }
  };
  return [first, ...readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name))].map(
    Number,
  );
}
const signalled = (signal) => {
  for (const pid of postgresProcesses()) process.kill(pid, signal);
};

async function fullLoad(minutes) {
  const seen = { statuses: {}, acknowledged: [] };
  const until = performance.now() + minutes * 60_000;
  const isOver = () => performance.now() > until;
  let calls = 0;
  // keeps the disk from filling, since only the service is measured
  const sweeper = setInterval(() => {
    calls += count(seen);
    seen.acknowledged = [];
    pool.query('TRUNCATE calls').catch(() => {});
  }, 30_000);
  const peak = await withPeak(() =>
    Promise.all([load(16, 1, isOver, seen), load(8, 100, isOver, seen)]),
  );
  clearInterval(sweeper);
  calls += count(seen);
  console.log(
    `${minutes} minutes of full load: ${calls} calls, ${JSON.stringify(seen.statuses)}, ` +
      `resident memory ${Math.round(residentMiB())} MiB at the end, ${peak} MiB at most`,
  );
}

async function standstill(seconds) {
  await pool.query('TRUNCATE calls');
  const seen = { statuses: {}, acknowledged: [] };
  let isDone = false;
  const isOver = () => isDone;
  const loads = Promise.all([load(64, 1, isOver, seen), load(64, 1000, isOver, seen)]);
  await pause(1000);
  const peak = await withPeak(async () => {
    signalled('SIGSTOP');
    await pause(seconds * 1000);
    signalled('SIGCONT');
    await pause(3000);
    isDone = true;
    await loads;
  });
  const { rows } = await pool.query(
    `SELECT id FROM calls WHERE project_id = $1 AND op_name = 'run' AND length(inputs::text) = $2`,
    [PROJECT, INPUTS.length],
  );
  const stored = new Set(rows.map(({ id }) => id));
  let missing = 0;
  for (const [id, size] of seen.acknowledged)
    for (let i = 0; i < size; i++) if (!stored.has(size === 1 ? id : `${id}-${i}`)) missing++;
  console.log(
    `PostgreSQL stopped for ${seconds} s: ${JSON.stringify(seen.statuses)}, ` +
      `resident memory ${peak} MiB at most, ${missing} of ${count(seen)} acknowledged calls missing`,
  );
  const answers = Object.keys(seen.statuses).filter(
    (status) => status !== '200' && status !== '503',
  );
  return missing === 0 && seen.statuses[503] > 0 && answers.length === 0;
}

let isGood = false;
try {
  if (Number(options.minutes) > 0) await fullLoad(Number(options.minutes));
  isGood = await standstill(Number(options.stopped));
} finally {
  await pool.end();
  service.kill('SIGTERM');
  const [code] = service.exitCode === null ? await once(service, 'exit') : [service.exitCode];
  isGood &&= code === 0;
  rmSync(dataDir, { recursive: true, force: true });
}
console.log(isGood ? 'all good' : 'NOT good');
process.exit(isGood ? 0 : 1);

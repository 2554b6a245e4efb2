// Starts and ends of calls through the real server, beside multi-row inserts of the same rows into the same PostgreSQL.
// npm run build && node bench/ingest.mjs
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { newSecret } from '../dist/src/auth/secret.js';
import { embeddedPostgresUrl } from '../dist/src/database/embedded-postgres.js';

const SECONDS = 5;
const key = newSecret();
const dataDir = mkdtempSync(join(tmpdir(), 'skein-bench-'));
chmodSync(dataDir, 0o755);
const server = spawn(process.execPath, ['dist/src/main.js'], {
  env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: key },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
server.stdout.on('data', (chunk) => (output += chunk));
while (!/listens on (\S+?)"/.test(output)) await once(server.stdout, 'data');
const url = new URL(/listens on (\S+?)"/.exec(output)[1]);

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
};
const post = (path, body) =>
  new Promise((resolve, reject) => {
    const sent = request(
      { agent, host: url.hostname, port: url.port, method: 'POST', path, headers },
      (answer) => {
        answer
          .resume()
          .once('end', () =>
            answer.statusCode === 200 ? resolve() : reject(new Error(`${answer.statusCode}`)),
          );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });

let n = 0;
const messages = JSON.stringify(
  Array.from({ length: 5 }, (_, i) => ({ role: 'user', content: `text ${i} `.repeat(40) })),
);
const aStart = () =>
  `{"project_id":"acme/bench","id":"call-${++n}","trace_id":"trace-${n}","op_name":"run","started_at":"2026-01-31T12:00:00Z","inputs":{"messages":${messages}}}`;

async function rate(connections, perRequest, send) {
  const latencies = [];
  const until = performance.now() + SECONDS * 1000;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < until) {
        const sent = performance.now();
        await send();
        latencies.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1);
  return { rate: (latencies.length * perRequest) / seconds, p50: at(0.5), p99: at(0.99) };
}

const pool = new pg.Pool({ connectionString: await embeddedPostgresUrl(dataDir), max: 4 });
await pool.query('CREATE TABLE bench_raw (LIKE calls INCLUDING ALL)');
const COLUMNS = ['project_id', 'id', 'trace_id', 'op_name', 'started_at', 'inputs'];
const rawInsert = async () => {
  const values = [];
  const rows = Array.from({ length: 100 }, () => {
    const start = JSON.parse(aStart());
    values.push(...COLUMNS.slice(0, -1).map((name) => start[name]), JSON.stringify(start.inputs));
    return `(${COLUMNS.map((_, i) => `$${values.length - COLUMNS.length + i + 1}`)})`;
  });
  await pool.query(`INSERT INTO bench_raw (${COLUMNS}) VALUES ${rows}`, values);
};
const batch = () =>
  post(
    '/call/upsert_batch',
    `{"batch":[${Array.from({ length: 100 }, () => `{"mode":"start","req":{"start":${aStart()}}}`)}]}`,
  );

const { rows } = await pool.query('SHOW server_version');
console.log(
  `Node ${process.version}, PostgreSQL ${rows[0].server_version}, ${cpus().length} × ${cpus()[0].model}, calls of ${aStart().length} bytes, ${SECONDS} s each`,
);
const table = [
  ['multi-row insert of 100, 4 connections (baseline)', await rate(4, 100, rawInsert)],
  ['/call/upsert_batch of 100, 8 connections', await rate(8, 100, batch)],
  [
    '/call/start, 1 connection',
    await rate(1, 1, () => post('/call/start', `{"start":${aStart()}}`)),
  ],
  [
    '/call/start, 64 connections',
    await rate(64, 1, () => post('/call/start', `{"start":${aStart()}}`)),
  ],
];
for (const [name, { rate: perSecond, p50, p99 }] of table)
  console.log(
    name.padEnd(52),
    `${Math.round(perSecond)} calls/s`.padStart(16),
    `${(perSecond / table[0][1].rate).toFixed(2)} of baseline`.padStart(18),
    `p50 ${p50} ms, p99 ${p99} ms`,
  );

await pool.end();
server.kill('SIGTERM');
await once(server, 'exit');
rmSync(dataDir, { recursive: true });

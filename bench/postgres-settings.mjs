// Compares the embedded PostgreSQL's settings, chosen by memory and cores, with other settings. Prints Markdown.
//
//     npm run build && node bench/postgres-settings.mjs [--calls 5000000]
//
// Each set of settings has a service and a folder of its own. They take turns: a load through the service, then
// queries.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { embeddedPostgresUrl } from '../dist/src/platform/postgres/embedded-postgres.js';
import { dataFolder, started } from './support.mjs';

const { values: options } = parseArgs({
  options: { calls: { type: 'string', default: '200000' } },
});
const CALLS = Number(options.calls);
const BATCH = 500;
/** Calls that one service loads before the next one's turn. */
const TURN = 50_000;
const CONNECTIONS = 8;
const PROJECT = 'acme/bench';
const TEXT = 'A text of some length, as it stands in many calls. '.repeat(12);

const SETS = {
  'by memory and cores': '',
  'before (fixed)':
    'shared_buffers=256MB max_wal_size=2GB work_mem=4MB effective_cache_size=4GB maintenance_work_mem=64MB autovacuum_vacuum_cost_limit=200',
  "PostgreSQL's defaults":
    'shared_buffers=128MB max_wal_size=1GB work_mem=4MB effective_cache_size=4GB maintenance_work_mem=64MB autovacuum_vacuum_cost_limit=200',
};

const day = (n) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
/** @type {Record<string, [path: string, query: object]>} */
const QUESTIONS = {
  'newest 50': [
    '/calls/query',
    { limit: 50, sort_by: [{ field: 'started_at', direction: 'desc' }] },
  ],
  'threads page': ['/threads/stream_query', { limit: 50 }],
  'count of errors': [
    '/calls/query_stats',
    { query: { $expr: { $eq: [{ $getField: 'exception' }, { $literal: 'none' }] } } },
  ],
};

const sets = [];
try {
  for (const [name, settings] of Object.entries(SETS)) sets.push(await opened(name, settings));
  await compare();
} finally {
  for (const { service, folder } of sets) {
    service.child.kill('SIGTERM');
    await once(service.child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

console.log(`| ${CALLS} calls | ${sets.map(({ name }) => name).join(' | ')} |`);
console.log(`| --- | ${sets.map(() => '---:').join(' | ')} |`);
for (const row of Object.keys(sets[0].results))
  console.log(`| ${row} | ${sets.map(({ results }) => results[row]).join(' | ')} |`);

async function compare() {
  for (let first = 0; first < CALLS; first += TURN)
    for (const set of sets)
      set.loadSeconds += await load(set, first, Math.min(first + TURN, CALLS));
  for (const set of sets) set.results['calls/s'] = Math.round(CALLS / set.loadSeconds);
  for (const [name, [path, query]] of Object.entries(QUESTIONS)) {
    const best = new Map();
    for (let round = 0; round < 3; round++)
      for (const set of sets) {
        const began = performance.now();
        await set.post(path, { project_id: PROJECT, ...query });
        best.set(set, Math.min(best.get(set) ?? Infinity, performance.now() - began));
      }
    for (const [set, ms] of best) set.results[`${name}, best of 3, ms`] = ms.toFixed(1);
  }
  for (const set of sets) set.results['size, MiB'] = await sizeOf(set);
}

async function opened(name, settings) {
  const key = newSecret();
  const folder = dataFolder();
  const service = await started('../dist/src/main.js', {
    PORT: '0',
    DATA_DIR: folder,
    BOOTSTRAP_API_KEY: key,
    POSTGRES_SETTINGS: settings,
  });
  const headers = {
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
  };
  const post = async (path, body) => {
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(service.url + path, request);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
  };
  return { name, folder, service, post, loadSeconds: 0, results: {} };
}

/** Loads starts of calls and the ends of a fifth of them. Returns the seconds. */
async function load({ post }, from, to) {
  const began = performance.now();
  let next = from;
  const work = async () => {
    while (next < to) {
      const first = next;
      next += BATCH;
      const batch = Array.from({ length: BATCH }, (_, i) => start(first + i));
      await post('/call/upsert_batch', { batch });
      if (first % 5 === 0) await post('/call/upsert_batch', { batch: batch.map(ended) });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return (performance.now() - began) / 1000;
}

async function sizeOf({ folder }) {
  const client = new pg.Client(await embeddedPostgresUrl(folder));
  await client.connect();
  const { rows } = await client.query(
    'SELECT pg_database_size(current_database()) / 1048576 AS mib',
  );
  await client.end();
  return rows[0].mib;
}

function start(n) {
  const id = `c${n}`;
  const turn = n % 10 === 0 ? { thread_id: `t${Math.floor(n / 100)}`, turn_id: id } : {};
  const call = {
    project_id: PROJECT,
    id,
    trace_id: `t${n}`,
    op_name: `op${n % 50}`,
    started_at: day(n),
  };
  return { mode: 'start', req: { start: { ...call, inputs: { text: TEXT }, ...turn } } };
}

function ended({ req: { start: call } }) {
  const { project_id, id, started_at } = call;
  return { mode: 'end', req: { end: { project_id, id, ended_at: started_at, output: { n: 1 } } } };
}

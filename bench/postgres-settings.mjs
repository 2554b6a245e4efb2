// The embedded PostgreSQL with the settings that it gets by memory and cores, beside other ones. Prints Markdown.
//   npm run build && node bench/postgres-settings.mjs [--calls 5000000]
// Each set of settings gets a folder of its own, one after the other: load through the service, then questions.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newSecret } from '../dist/src/auth/secret.js';
import { embeddedPostgresUrl } from '../dist/src/postgres/embedded-postgres.js';
import { dataFolder, started } from './support.mjs';

const { values: options } = parseArgs({
  options: { calls: { type: 'string', default: '200000' } },
});
const CALLS = Number(options.calls);
const BATCH = 500;
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

const results = {};
for (const [name, settings] of Object.entries(SETS)) results[name] = await measure(settings);
const rows = Object.keys(Object.values(results)[0]);
console.log(`| ${CALLS} calls | ${Object.keys(results).join(' | ')} |`);
console.log(
  `| --- | ${Object.keys(results)
    .map(() => '---:')
    .join(' | ')} |`,
);
for (const row of rows)
  console.log(
    `| ${row} | ${Object.values(results)
      .map((result) => result[row])
      .join(' | ')} |`,
  );

async function measure(settings) {
  const key = newSecret();
  const folder = dataFolder();
  const service = await started('../dist/src/main.js', {
    PORT: '0',
    DATA_DIR: folder,
    BOOTSTRAP_API_KEY: key,
    POSTGRES_SETTINGS: settings,
  });
  const post = async (path, body) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
  };
  const from = performance.now();
  let next = 0;
  const load = async () => {
    while (next < CALLS) {
      const first = next;
      next += BATCH;
      const batch = Array.from({ length: BATCH }, (_, i) => start(first + i));
      await post('/call/upsert_batch', { batch });
      if (first % 5 === 0) await post('/call/upsert_batch', { batch: batch.map(ended) });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, load));
  const seconds = (performance.now() - from) / 1000;
  const result = { 'calls/s': Math.round(CALLS / seconds) };
  for (const [name, [path, query]] of Object.entries(QUESTIONS)) {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const began = performance.now();
      await post(path, { project_id: PROJECT, ...query });
      times.push(performance.now() - began);
    }
    result[`${name}, best of 3, ms`] = Math.min(...times).toFixed(1);
  }
  const client = new pg.Client(await embeddedPostgresUrl(folder));
  await client.connect();
  const { rows: size } = await client.query(
    'SELECT pg_database_size(current_database()) / 1048576 AS mib',
  );
  result['size, MiB'] = size[0].mib;
  await client.end();
  service.child.kill('SIGTERM');
  await once(service.child, 'exit');
  rmSync(folder, { recursive: true, force: true });
  return result;
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

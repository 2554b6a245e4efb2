/**
 * Measures page 1, page 1,000 by `after` and the same page by `offset` over HTTP, in turns: after a bulk load into
 * tables that were analysed before it, and again after an analysis. Starts an embedded PostgreSQL and the service.
 *
 *     npm run build && node bench/paging.mjs [rows=200000] [calls objects threads] [--plans]
 *
 * Pages have 50 rows; medians count. `--plans` prints the plan of page 1,000 by `after`.
 */
import { once } from 'node:events';
import http from 'node:http';
import { callRows } from '../dist/src/tracing/calls/read/call-lists.query.js';
import { objectsQuery } from '../dist/src/tracing/objects/objects.query.js';
import { threadsQuery } from '../dist/src/tracing/threads/threads.query.js';
import { serviceAndDatabase } from './support.mjs';

const ROWS = Number(process.argv.find((word) => /^\d+$/.test(word)) ?? 200_000);
const WORDS = process.argv.slice(2).filter((word) => /^[a-z]+$/.test(word));
const isAsked = (name) => WORDS.length === 0 || WORDS.includes(name);
const PLANS = process.argv.includes('--plans');
const PAGE = 50;
const BEFORE = 999 * PAGE;
const READS = 41;
/** Fewer repetitions for queries that read everything. */
const FEW_READS = 5;
const CALLS = 'acme/calls';
const OBJECTS = 'acme/objects';
const THREADS = 'acme/threads';

const { url, client, headers, close } = await serviceAndDatabase();
const agent = new http.Agent({ keepAlive: true });

/** Sends a request and returns the rows of its answer. */
async function post(path, body) {
  const request = http.request(url + path, { method: 'POST', headers, agent });
  request.end(JSON.stringify(body));
  const [response] = await once(request, 'response');
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text.slice(0, 500)}`);
  if (path === '/objs/query') return JSON.parse(text).objs;
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const by = (field, direction) => ({ sort_by: [{ field, direction }] });
const CALLS_LISTED = {
  'by default': {},
  'newest first': by('started_at', 'desc'),
  'newest roots': { ...by('started_at', 'desc'), filter: { trace_roots_only: true } },
  'newest of an op': { ...by('started_at', 'desc'), filter: { op_names: ['op0'] } },
  'of one trace': { filter: { trace_ids: ['large'] } },
  'slowest roots': {
    ...by('summary.svc.latency_ms', 'desc'),
    filter: { trace_roots_only: true },
  },
  'slowest (reads all)': by('summary.svc.latency_ms', 'desc'),
  'by inputs.n (reads all)': by('inputs.n', 'desc'),
};
const OBJECTS_LISTED = {};
for (const field of ['created_at', 'object_id'])
  for (const direction of ['asc', 'desc'])
    OBJECTS_LISTED[`by ${field} ${direction}`] = { ...by(field, direction), metadata_only: true };
OBJECTS_LISTED['latest, newest first'] = {
  ...by('created_at', 'desc'),
  filter: { latest_only: true },
};
const THREADS_LISTED = { 'by default': {} };
for (const field of ['thread_id', 'turn_count', 'start_time', 'last_updated'])
  for (const direction of ['asc', 'desc'])
    THREADS_LISTED[`by ${field} ${direction}`] = by(field, direction);
THREADS_LISTED['slowest (reads all)'] = by('p50_turn_duration_ms', 'desc');
THREADS_LISTED['of a window (reads it)'] = {
  filter: { after_datetime: '2026-01-01T00:00:00Z' },
};

const at = (row, path) => path.split('.').reduce((value, step) => value?.[step], row) ?? null;
function positionOf(path, body, row) {
  const [field] = (body.sort_by ?? []).map((sort) => sort.field);
  if (path === '/objs/query')
    return field === 'object_id'
      ? [row.object_id, row.version_index]
      : [row.created_at, row.version_index, row.object_id];
  const [usual, id] = path.startsWith('/calls')
    ? ['started_at', 'id']
    : ['last_updated', 'thread_id'];
  return field === id ? [row[id]] : [at(row, field ?? usual), row[id]];
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}
const ms = (value) => Number(value.toFixed(1));

const QUERIES = {
  '/calls/stream_query': (request) => callRows(request).query,
  '/objs/query': objectsQuery,
  '/threads/stream_query': threadsQuery,
};

async function table(title, path, project_id, listed) {
  const rows = {};
  for (const [name, more] of Object.entries(listed)) {
    const body = { project_id, limit: PAGE, ...more };
    const [last] = await post(path, { ...body, limit: 1, offset: BEFORE - 1 });
    const next = { ...body, after: positionOf(path, body, last) };
    const skipped = { ...body, offset: BEFORE };
    if (JSON.stringify(await post(path, next)) !== JSON.stringify(await post(path, skipped)))
      throw new Error(`${title} ${name}: the two pages differ`);
    const times = { first: [], after: [], offset: [] };
    for (let i = 0; i < (name.includes('(reads') ? FEW_READS : READS); i++) {
      times.first.push(await timed(() => post(path, body)));
      times.after.push(await timed(() => post(path, next)));
      if (i < FEW_READS) times.offset.push(await timed(() => post(path, skipped)));
    }
    const [first, after, offset] = Object.values(times).map(median);
    rows[name] = {
      'page 1': ms(first),
      'page 1,000 by after': ms(after),
      'after / page 1': Number((after / first).toFixed(2)),
      'by offset': ms(offset),
    };
    if (PLANS) {
      const { text, values } = QUERIES[path](next).toQuery();
      const plan = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF) ${text}`, values);
      console.log(`${title} ${name}`);
      for (const line of plan.rows) console.log(`  ${line['QUERY PLAN'].slice(0, 220)}`);
    }
  }
  console.log(`${title}, ms`);
  console.table(rows);
}

const INSERT_CALLS = `
  INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, user_id, started_at, ended_at, attributes, inputs)
  SELECT $1, '0190a000-0000-7000-8000-' || lpad(n::text, 12, '0'), 'op' || n % 2,
    CASE WHEN n % 10 < 3 THEN 'large' ELSE 't' || n / 10 END, CASE WHEN n % 10 >= 5 THEN 'p' END, 'ada', at,
    CASE WHEN n % 100 > 0 THEN at + random() * interval '30 s' END, '{}',
    json_build_object('n', n * 7919 % 100003, 'text', repeat(md5(n::text), 12))
  FROM (SELECT n, '2026-01-01'::timestamptz + n * interval '100 ms' AS at FROM generate_series(1, $2::int) n) t`;
const INSERT_TURNS = `
  INSERT INTO calls (project_id, id, turn_id, op_name, trace_id, thread_id, started_at, ended_at, attributes, inputs)
  SELECT $1, n::text, n::text, 'chat', 't' || n, 'thread ' || lpad((n % $2::int)::text, 8, '0'), at,
    at + random() * interval '30 s', '{}', '{}'
  FROM (SELECT n, '2026-01-01'::timestamptz + n * interval '1 s' AS at
    FROM generate_series(1, $2::int + $2::int / 4) n) t`;
const INSERT_VERSIONS = `
  INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
  SELECT $1, 'name-' || n / 2, n % 2, rpad(n::text, 43, 'x'), '2026-01-01'::timestamptz + n * interval '1 ms', n % 2 = 1,
    'object', 2, '{}' FROM generate_series(0, $2::int - 1) n`;

async function refreshed() {
  while ((await client.query('SELECT FROM thread_marks LIMIT 1')).rowCount > 0)
    await new Promise((resolve) => setTimeout(resolve, 200));
}
/** The refresher skips the threads of a project while this connection has its lock. */
const HOLD = [0x74687264, THREADS];

async function tables(state) {
  if (isAsked('calls')) await table(`calls, ${state}`, '/calls/stream_query', CALLS, CALLS_LISTED);
  if (isAsked('objects')) await table(`objects, ${state}`, '/objs/query', OBJECTS, OBJECTS_LISTED);
  if (isAsked('threads'))
    await table(`threads, ${state}`, '/threads/stream_query', THREADS, THREADS_LISTED);
}

try {
  const TABLES = ['calls', 'object_versions', 'threads', 'thread_marks'];
  for (const name of TABLES)
    await client.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`);
  for (let n = 0; n < 30; n++) {
    await client.query(INSERT_CALLS, [`acme/small${n}`, 10]);
    await client.query(INSERT_TURNS, [`acme/small${n}`, 10]);
    await client.query(INSERT_VERSIONS, [`acme/small${n}`, 10]);
  }
  await refreshed();
  await client.query(`ANALYZE ${TABLES.join(', ')}`);
  await client.query(INSERT_CALLS, [CALLS, ROWS]);
  await client.query(INSERT_VERSIONS, [OBJECTS, ROWS]);
  await client.query(INSERT_TURNS, [THREADS, ROWS]);
  await refreshed();
  await tables(`${ROWS} just loaded`);
  await client.query(`VACUUM ANALYZE ${TABLES.join(', ')}`);
  await tables(`${ROWS} analysed`);
  if (isAsked('threads')) await marked();
} finally {
  agent.destroy();
  await close();
}

async function marked() {
  await client.query('SELECT pg_advisory_lock($1, hashtext($2))', HOLD);
  await client.query(
    `UPDATE calls SET thread_id = thread_id || '!' WHERE project_id = $1 AND id::int <= 500`,
    [THREADS],
  );
  const { rows } = await client.query('SELECT count(*) FROM thread_marks WHERE project_id = $1', [
    THREADS,
  ]);
  await table(`threads, ${rows[0].count} marked`, '/threads/stream_query', THREADS, THREADS_LISTED);
}

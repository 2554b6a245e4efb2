/**
 * Measures thread statistics over HTTP, with the naive query on the same data, and their cost for ingest, in one run.
 * Starts an embedded PostgreSQL with durable settings and the service.
 *
 *     npm run build && node bench/threads.mjs [turns...=100000 1000000 4000000]
 *
 * Threads have ten turns on average over 30 days; 1 % have no end. `naive` is the usual query directly on PostgreSQL,
 * without HTTP: an index-only scan of every turn, with the sorted value alone or with both percentiles.
 */
import { fileURLToPath } from 'node:url';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import http from 'node:http';
import { cpus, totalmem } from 'node:os';
import pg from 'pg';
import { dataFolder, withSchema } from './support.mjs';

const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1e5, 1e6, 4e6];
const PORT = Number(process.env.BENCH_PORT ?? 3300);
const PROJECT = 'acme/bench';
const FIRST_DAY = '2026-01-01T00:00:00Z';
const DAYS = 30;
const READS = 200;
const SECONDS = 4;

const load = (path) => import(new URL(`../dist/${path}`, import.meta.url).href);
const { openEmbeddedPostgres } = await load('src/platform/postgres/embedded-postgres.js');
const { newSecret } = await load('src/platform/auth/keys/secret.js');

const dataDir = dataFolder();
const server = await openEmbeddedPostgres({ dataDir });
const admin = new pg.Client(server.url);
await admin.connect();
const urlOf = (name) => server.url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
const secret = newSecret();

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
const headers = {
  authorization: `Basic ${Buffer.from(`bench:${secret}`).toString('base64')}`,
  'content-type': 'application/json',
};
/** Sends a request, reads the answer to its end and returns its number of lines. */
function post(path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { port: PORT, path, method: 'POST', headers, agent },
      (response) => {
        let lines = 0;
        let text = '';
        response.on('data', (chunk) => {
          for (const byte of chunk) if (byte === 10) lines++;
          if (response.statusCode !== 200) text += chunk;
        });
        response.on('error', reject);
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(lines)
            : reject(new Error(`${response.statusCode} ${text}`)),
        );
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}

/** Starts the service on a new database that `prepare` fills after the migrations. */
async function withService(prepare, work) {
  await admin.query('DROP DATABASE IF EXISTS bench WITH (FORCE)');
  await admin.query('CREATE DATABASE bench');
  await withSchema(urlOf('bench'));
  const client = new pg.Client({
    connectionString: urlOf('bench'),
    options: '-c timezone=UTC -c jit=off',
  });
  await client.connect();
  await prepare(client);
  const service = spawn(
    process.execPath,
    [fileURLToPath(new URL('../dist/src/main.js', import.meta.url))],
    {
      env: {
        ...process.env,
        DATABASE_URL: urlOf('bench'),
        PORT: String(PORT),
        BOOTSTRAP_API_KEY: secret,
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const exited = new Promise((resolve) => service.on('exit', resolve));
  try {
    await Promise.race([
      until(() =>
        post('/threads/stream_query', { project_id: PROJECT, limit: 0 }).then(
          () => true,
          () => false,
        ),
      ),
      exited.then(() => Promise.reject(new Error('the service did not start'))),
    ]);
    return await work(client);
  } finally {
    service.kill('SIGTERM');
    await exited;
    await client.end();
  }
}
async function until(isTrue) {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

const at = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
/** Runs `count` times and returns the sorted times. Stops after `SECONDS` in total, but not before three runs. */
async function timesOf(count, run) {
  const end = performance.now() + SECONDS * 1000;
  const times = [];
  for (let i = 0; i < count && (i < 3 || performance.now() < end); i++) {
    const started = performance.now();
    await run();
    times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b);
}

/** Marks every thread once, as a bulk load by SQL with triggers does. */
async function fill(client, turns) {
  const { rows: indexes } = await client.query(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'calls' AND indexname <> 'calls_pkey'`,
  );
  for (const { indexname } of indexes) await client.query(`DROP INDEX ${indexname}`);
  await client.query(`SET session_replication_role = replica`); // disables triggers
  await client.query(`SELECT setseed(0.5)`);
  await client.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, turn_id, thread_id, started_at, ended_at, user_id, attributes, inputs)
     SELECT $1, id, 'chat', id, id, 'thread-' || lpad(((n / 1000) * 100 + floor(100 * random() * random()))::text, 9, '0'),
       started_at, CASE WHEN n % 100 > 0 THEN started_at + random() * random() * interval '30 s' END, 'ada', '{}', '{}'
     FROM (SELECT n, '0190a000-0000-7000-8000-' || lpad(n::text, 12, '0') AS id,
         $2::timestamptz + n * (interval '${DAYS} days' / $3::float8) AS started_at
       FROM generate_series(0, $3::int - 1) AS n) t`,
    [PROJECT, FIRST_DAY, turns],
  );
  await client.query(`RESET session_replication_role`);
  for (const { indexdef } of indexes) await client.query(indexdef);
  await client.query(
    `INSERT INTO thread_marks (project_id, thread_id) SELECT DISTINCT project_id, thread_id FROM calls`,
  );
  await client.query('VACUUM ANALYZE calls');
  await client.query('CHECKPOINT');
}

const IS_TURN = `project_id = $1 AND id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`;
const MS = `(extract(epoch FROM ended_at - started_at) * 1000)::float8`;
const BASIC = `thread_id, count(*) AS turn_count, min(started_at) AS start_time, max(coalesce(ended_at, started_at)) AS last_updated`;
const PERCENTILES = `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${MS}) AS p50_turn_duration_ms,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY ${MS}) AS p99_turn_duration_ms`;
const naive = (columns, order, where = '') =>
  `SELECT ${columns} FROM calls WHERE ${IS_TURN} ${where} GROUP BY thread_id ORDER BY ${order} NULLS LAST, thread_id LIMIT 50`;

const DAY = { after_datetime: '2026-01-15T00:00:00Z', before_datetime: '2026-01-16T00:00:00Z' };
const IN_DAY = `AND started_at > '${DAY.after_datetime}' AND started_at < '${DAY.before_datetime}'`;
const sorted = (field, direction) => ({
  name: `by ${field} ${direction}`,
  body: { sort_by: [{ field, direction }] },
  order: `${field} ${direction}`,
});
const PAGES = [
  { name: 'default page', body: {}, order: 'last_updated desc' },
  { name: 'default page, 1,000 threads marked', body: {}, order: 'last_updated desc', marks: 1000 },
  sorted('last_updated', 'asc'),
  ...[
    'thread_id',
    'start_time',
    'turn_count',
    'p50_turn_duration_ms',
    'p99_turn_duration_ms',
  ].flatMap((field) => [sorted(field, 'asc'), sorted(field, 'desc')]),
  { name: 'one-day window', body: { filter: DAY }, order: 'last_updated desc', where: IN_DAY },
];

async function pages(turns) {
  let filled = 0;
  return withService(
    async (client) => {
      await fill(client, turns);
      filled = performance.now();
      await client.query(`SELECT pg_advisory_lock(1953002084, hashtext($1))`, [PROJECT]);
    },
    async (client) => {
      const ask = (body) =>
        post('/threads/stream_query', { project_id: PROJECT, limit: 50, ...body });
      const behind = await timesOf(3, () => ask({}));
      await client.query(`SELECT pg_advisory_unlock_all()`);
      filled = performance.now();
      await until(
        async () => (await client.query('SELECT FROM thread_marks LIMIT 1')).rowCount === 0,
      );
      const caughtUp_s = (performance.now() - filled) / 1000;
      await client.query('VACUUM ANALYZE threads');
      await client.query('VACUUM ANALYZE thread_marks');
      await timesOf(READS, () => ask({})); // warms up the service
      const rows = [];
      for (const { name, body, order, where, marks } of PAGES) {
        if (marks) {
          await client.query(`SELECT pg_advisory_lock(1953002084, hashtext($1))`, [PROJECT]);
          await client.query(
            `INSERT INTO thread_marks (project_id, thread_id)
             SELECT project_id, thread_id FROM threads WHERE project_id = $1 ORDER BY last_updated DESC LIMIT $2`,
            [PROJECT, marks],
          );
        }
        const times = await timesOf(READS, () => ask(body));
        if (marks) {
          await client.query(`SELECT pg_advisory_unlock_all()`);
          await until(
            async () => (await client.query('SELECT FROM thread_marks LIMIT 1')).rowCount === 0,
          );
        }
        const reads = turns > 1e6 ? 1 : 5;
        const isPercentile = /percentile|p\d\d/.test(order);
        const bare = isPercentile
          ? null
          : at(
              await timesOf(reads, () => client.query(naive(BASIC, order, where), [PROJECT])),
              0.5,
            );
        const full = at(
          await timesOf(reads, () =>
            client.query(naive(`${BASIC}, ${PERCENTILES}`, order, where), [PROJECT]),
          ),
          0.5,
        );
        rows.push({ name, p50: at(times, 0.5), p99: at(times, 0.99), bare, full });
      }
      const streamed = await timesOf(3, () =>
        post('/threads/stream_query', { project_id: PROJECT }),
      );
      const { rows: sizes } = await client.query(
        `SELECT relname, pg_size_pretty(pg_relation_size(oid)) AS size FROM pg_class
         WHERE relname ~ '^(calls|threads|thread_marks)' AND relkind IN ('r', 'i') ORDER BY relname`,
      );
      const {
        rows: [{ threads }],
      } = await client.query('SELECT count(*)::int AS threads FROM threads');
      return {
        turns,
        threads,
        rows,
        behind: at(behind, 0.5),
        caughtUp_s,
        streamed: at(streamed, 0.5),
        sizes,
      };
    },
  );
}

const filler = 'the quick brown fox '.repeat(90);
let number = 0;
/** Start and end of a new call, which is a turn unless `thread` is null. */
function callOf(thread) {
  const id = `0190b000-0000-7000-8000-${String(number++).padStart(12, '0')}`;
  const started_at = new Date(1.77e12 + number).toISOString();
  const start = {
    project_id: PROJECT,
    id,
    op_name: 'chat',
    started_at,
    inputs: { filler },
    ...(thread && { thread_id: thread, turn_id: id }),
  };
  const end = {
    project_id: PROJECT,
    id,
    ended_at: new Date(1.77e12 + number + 1000).toISOString(),
    output: 'ok',
    summary: {},
  };
  return [
    { mode: 'start', req: { start } },
    { mode: 'end', req: { end } },
  ];
}

const KINDS = {
  'no thread': () => null,
  'turns, 10 a thread': () => `thread-${Math.floor(number / 1000)}-${number % 100}`,
  'turns, one hot thread': () => 'hot',
};
const ROUNDS = 5;

/** Calls per second: batches of 100 calls from 8 clients, or single starts from 200. */
async function ingest(threadOf, { clients, perRequest, total }) {
  const bodies = Array.from({ length: total / perRequest }, () =>
    perRequest > 1
      ? { batch: Array.from({ length: perRequest }, () => callOf(threadOf())).flat() }
      : callOf(threadOf())[0].req,
  );
  const path = perRequest > 1 ? '/call/upsert_batch' : '/call/start';
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let body; (body = bodies.pop());) await post(path, body);
    }),
  );
  return (total * 1000) / (performance.now() - started);
}

const SHAPES = {
  'batches of 100 calls, 8 clients': { clients: 8, perRequest: 100, total: 8000 },
  'single starts, 200 clients': { clients: 200, perRequest: 1, total: 3000 },
};

async function ingestTable() {
  const rates = {};
  await withService(
    async () => {},
    async (client) => {
      for (const threadOf of Object.values(KINDS))
        for (const shape of Object.values(SHAPES)) await ingest(threadOf, shape); // warms up
      for (let round = 0; round < ROUNDS; round++) {
        const kinds = Object.entries(KINDS);
        for (let i = 0; i < kinds.length; i++) {
          const [kind, threadOf] = kinds[(i + round) % kinds.length];
          await until(
            async () => (await client.query('SELECT FROM thread_marks LIMIT 1')).rowCount === 0,
          );
          for (const [shape, options] of Object.entries(SHAPES))
            ((rates[shape] ??= {})[kind] ??= []).push(await ingest(threadOf, options));
        }
      }
      const { rows } = await client.query(
        `SELECT deadlocks::int FROM pg_stat_database WHERE datname = 'bench'`,
      );
      console.log(`deadlocks: ${rows[0].deadlocks}`);
    },
  );
  for (const of of Object.values(rates))
    for (const kind in of)
      of[kind] = at(
        of[kind].toSorted((a, b) => a - b),
        0.5,
      );
  return rates;
}

const {
  rows: [{ version }],
} = await admin.query(`SELECT split_part(version(), ' on ', 1) AS version`);
console.log(
  `${cpus().length} × ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GB; ${version}; Node ${process.version}; ${process.platform}`,
);
try {
  const defaults = [];
  for (const turns of SIZES) {
    const { threads, rows, behind, caughtUp_s, streamed, sizes } = await pages(turns);
    const ms = (value) => (value === null ? '' : value.toFixed(1));
    console.log(
      `\n${turns} turns in ${threads} threads, ms; pages of 50 over HTTP, up to ${READS} reads each`,
    );
    console.table(
      Object.fromEntries(
        rows.map(({ name, p50, p99, bare, full }) => [
          name,
          {
            p50: ms(p50),
            p99: ms(p99),
            naive: ms(bare),
            'naive with percentiles': ms(full),
            'naive / p50': ((bare ?? full) / p50).toFixed(0),
          },
        ]),
      ),
    );
    console.log(
      `every thread streamed: ${ms(streamed)} ms; default page with every thread marked: ${ms(behind)} ms; until refreshed: ${caughtUp_s.toFixed(1)} s`,
    );
    console.log(sizes.map(({ relname, size }) => `${relname} ${size}`).join(', '));
    defaults.push(rows[0].p50);
  }
  console.log(
    `\ndefault page, p50, against the first size: ${defaults.map((p50) => (p50 / defaults[0]).toFixed(2)).join(', ')}`,
  );
  const rates = await ingestTable();
  console.log(
    `\ningest, calls a second, median of ${ROUNDS} rounds (in brackets: cost against no thread)`,
  );
  console.table(
    Object.fromEntries(
      Object.entries(rates).map(([shape, of]) => [
        shape,
        Object.fromEntries(
          Object.entries(of).map(([kind, rate]) => [
            kind,
            `${Math.round(rate)} (${(of['no thread'] / rate).toFixed(2)})`,
          ]),
        ),
      ]),
    ),
  );
} finally {
  agent.destroy();
  await admin.end();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

/**
 * Measures objects, tables and files through the real server, and compares ways of locking and storing them in one run.
 *
 *     npm run build && node bench/objects.mjs [publish|list|tables|files …]
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { Readable } from 'node:stream';
import pg from 'pg';
import { newSecret } from '../dist/src/platform/auth/secret.js';
import { embeddedPostgresUrl } from '../dist/src/platform/postgres/embedded-postgres.js';
import {
  demoteQuery,
  lockQuery,
  objectsQuery,
  publishQuery,
} from '../dist/src/tracing/objects/objects.query.js';
import { dataFolder } from './support.mjs';

const wanted = new Set(process.argv.slice(2));
const key = newSecret();
const dataDir = dataFolder();
const server = spawn(process.execPath, ['dist/src/main.js'], {
  env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: key },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
server.stdout.on('data', (chunk) => (output += chunk));
while (!/listens on (\S+?)"/.test(output)) await once(server.stdout, 'data');
const url = /listens on (\S+?)"/.exec(output)[1];
const headers = { authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}` };
const pool = new pg.Pool({ connectionString: await embeddedPostgresUrl(dataDir), max: 16 });

async function post(path, body) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  if (response.status !== 200)
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}
const json = async (path, body) => (await post(path, body)).json();

const ms = (from) => performance.now() - from;
async function timed(work) {
  const began = performance.now();
  const result = await work();
  return [ms(began), result];
}
async function best(times, work) {
  let least = Infinity;
  for (let i = 0; i < times; i++) least = Math.min(least, (await timed(work))[0]);
  return least;
}
const share = (sorted, part) => sorted[Math.floor(part * (sorted.length - 1))];
const line = (name, ...figures) =>
  console.log(name.padEnd(58), figures.map((figure) => figure.padStart(20)).join(''));
const msText = (value) => `${value < 100 ? value.toFixed(1) : Math.round(value)} ms`;
const mib = (bytes) => `${Math.round(bytes / 1024 / 1024)} MiB`;

/** The resident memory of the server before `work`, and its peak meanwhile. */
async function memoryOf(work) {
  const resident = async () =>
    Number(
      /^process_resident_memory_bytes (\S+)/m.exec(
        await (await fetch(`${url}/metrics`, { headers })).text(),
      )[1],
    );
  const before = await resident();
  let peak = before;
  let isDone = false;
  const watching = (async () => {
    while (!isDone) {
      peak = Math.max(peak, await resident());
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })();
  const [time, result] = await timed(work);
  isDone = true;
  await watching;
  return { time, result, memory: `${mib(before)} → ${mib(peak)}` };
}

/** Reads an answer to its end without keeping it. */
async function drained(response) {
  let bytes = 0;
  for await (const chunk of response.body) bytes += chunk.length;
  return bytes;
}

const sections = { publish, list, tables, files };
const { rows } = await pool.query('SHOW server_version');
console.log(
  `Node ${process.version}, PostgreSQL ${rows[0].server_version}, ${cpus().length} × ${cpus()[0].model}\n`,
);
for (const [name, run] of Object.entries(sections))
  if (wanted.size === 0 || wanted.has(name)) {
    console.log(name);
    await run();
    console.log();
  }
await pool.end();
server.kill('SIGTERM');
await once(server, 'exit');
rmSync(dataDir, { recursive: true });

async function publish() {
  let n = 0;
  const clients = async (count, nameOf) => {
    const latencies = [];
    const until = performance.now() + 4000;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: count }, async (_, client) => {
        while (performance.now() < until) {
          const body = { project_id: 'acme/bench', object_id: nameOf(client), val: { n: n++ } };
          latencies.push((await timed(() => json('/obj/create', { obj: body })))[0]);
        }
      }),
    );
    const sorted = latencies.toSorted((a, b) => a - b);
    return [
      `${Math.round((1000 * latencies.length) / ms(began))}/s`,
      `p50 ${msText(share(sorted, 0.5))}`,
      `p99 ${msText(share(sorted, 0.99))}`,
    ];
  };
  line('64 clients, a name each', ...(await clients(64, (client) => `own-${client}`)));
  line('64 clients, one name', ...(await clients(64, () => 'shared')));

  const waits = [];
  let isDone = false;
  const reader = (async () => {
    while (!isDone)
      waits.push(
        (
          await timed(() =>
            json('/obj/read', { project_id: 'acme/bench', object_id: 'own-0', digest: 'latest' }),
          )
        )[0],
      );
  })();
  await clients(64, () => 'shared');
  isDone = true;
  await reader;
  const sorted = waits.toSorted((a, b) => a - b);
  line(
    'a reader beside 64 clients on one name',
    `p50 ${msText(share(sorted, 0.5))}`,
    `p99 ${msText(share(sorted, 0.99))}`,
  );
  const again = await best(50, () =>
    json('/obj/create', { obj: { project_id: 'acme/bench', object_id: 'again', val: 1 } }),
  );
  line('the same value again', msText(again));

  // Compares two locks: an advisory lock, and the row of a table of names.
  await pool.query(
    'CREATE TABLE bench_names (project_id text, object_id text, PRIMARY KEY (project_id, object_id))',
  );
  const rowLock = `INSERT INTO bench_names VALUES ($1, $2)
    ON CONFLICT (project_id, object_id) DO UPDATE SET object_id = excluded.object_id`;
  const strategies = {
    'advisory lock': (client, name) => client.query(lockQuery('acme/lock', name).toQuery()),
    'row lock': (client, name) => client.query(rowLock, ['acme/lock', name]),
  };
  for (const names of [1, 64])
    for (const [strategy, lock] of Object.entries(strategies)) {
      let done = 0;
      const until = performance.now() + 4000;
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const client = await pool.connect();
          while (performance.now() < until) {
            const objectId = `${strategy}-${names}-${done++ % names}`;
            const digest = createHash('sha256').update(String(done)).digest('base64url');
            const objectClass = { kind: /** @type {const} */ ('object'), base: null, leaf: null };
            await client.query('BEGIN');
            await lock(client, objectId);
            await client.query(demoteQuery('acme/lock', objectId).toQuery());
            await client.query(
              publishQuery({
                projectId: 'acme/lock',
                objectId,
                digest,
                objectClass,
                userId: 'bench',
                val: '{"n":1}',
              }).toQuery(),
            );
            await client.query('COMMIT');
          }
          client.release();
        }),
      );
      line(`${strategy}, 10 connections, ${names} name(s)`, `${Math.round(done / 4)}/s`);
    }
}

async function list() {
  const project_id = 'acme/list';
  await pool.query(
    `INSERT INTO object_versions (project_id, object_id, version_index, digest, created_at, is_latest, kind, size_bytes, val)
     SELECT $1, 'name-' || i % 1000, i / 1000, rpad(i::text, 43, 'x'), now() + i * interval '1 ms', i >= 99000, 'object',
       octet_length(v.val), v.val::json
     FROM generate_series(0, 99999) i,
       LATERAL (SELECT json_build_object('i', i, 'text', repeat('lorem ipsum ' || i, 60))::text AS val) v`,
    [project_id],
  );
  await pool.query('VACUUM ANALYZE object_versions');
  for (const body of [
    {},
    { metadata_only: true },
    { include_storage_size: true, metadata_only: true },
  ]) {
    await drained(await post('/objs/query', { project_id, limit: 1000, ...body }));
    const { time, result, memory } = await memoryOf(async () =>
      drained(await post('/objs/query', { project_id, ...body })),
    );
    line(`100,000 versions ${JSON.stringify(body)}`, msText(time), mib(result), memory);
  }
  const latest = { project_id, limit: 50, filter: { latest_only: true } };
  for (const field of ['created_at', 'object_id'])
    for (const direction of ['asc', 'desc']) {
      const query = { ...latest, sort_by: [{ field, direction }] };
      line(
        `latest_only, limit 50, ${field} ${direction}`,
        msText(await best(20, () => json('/objs/query', query))),
      );
    }
  const { text, values } = objectsQuery({ ...latest, metadata_only: true }).toQuery();
  const plan = await pool.query(
    `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, VERBOSE) ${text}`,
    values,
  );
  console.log(plan.rows.map((row) => `  ${row['QUERY PLAN']}`).join('\n'));
}

async function tables() {
  const project_id = 'acme/tables';
  const texts = Array.from(
    { length: 100_000 },
    (_, i) => `{"i":${i},"question":"${'what is '.repeat(10)}${i}?"}`,
  );
  const { time, result, memory } = await memoryOf(() =>
    json('/table/create', `{"table":{"project_id":"${project_id}","rows":[${texts.join(',')}]}}`),
  );
  line('/table/create of 100,000 rows', msText(time), mib(texts.join(',').length), memory);
  const again = await timed(() =>
    json('/table/create_from_digests', { project_id, row_digests: result.row_digests }),
  );
  line('/table/create_from_digests of them', msText(again[0]));
  const append = await timed(() =>
    json('/table/update', {
      project_id,
      base_digest: result.digest,
      updates: [{ append: { row: { i: -1 } } }],
    }),
  );
  line('/table/update by one row', msText(append[0]));
  const query = { project_id, digest: result.digest };
  for (const offset of [0, 99_900])
    line(
      `a page of 100 at ${offset}`,
      msText(await best(20, () => json('/table/query', { ...query, limit: 100, offset }))),
    );
  const all = await memoryOf(async () => drained(await post('/table/query', query)));
  line('all 100,000 rows', msText(all.time), mib(all.result), all.memory);
  const sorted = { ...query, limit: 100, sort_by: [{ field: 'i', direction: 'desc' }] };
  line(
    'a page of 100, sorted by a field',
    msText(await best(3, () => json('/table/query', sorted))),
  );
  const filter = { ...query, filter: { row_digests: result.row_digests.slice(5000, 5010) } };
  line('10 rows by their digests', msText(await best(3, () => json('/table/query', filter))));

  // Compares ways to store a table of a million rows: one value, a row for each place, and arrays of 1000.
  await pool.query(`
    CREATE TABLE bench_places (project_id text COLLATE "C", digest text COLLATE "C", place int, row_digest text COLLATE "C",
      PRIMARY KEY (project_id, digest, place));
    CREATE TABLE bench_arrays (project_id text COLLATE "C", digest text COLLATE "C", chunk int, row_digests text[],
      PRIMARY KEY (project_id, digest, chunk))`);
  const source = `(SELECT n, row_digest FROM generate_series(0, 9) k,
    LATERAL (SELECT row_number() OVER (ORDER BY digest) - 1 + 100000 * k AS n, digest AS row_digest
      FROM table_rows WHERE project_id = '${project_id}' LIMIT 100000) r)`;
  const page = (join) => `
    SELECT (SELECT row_to_json(o)::text FROM (SELECT r.digest, r.val, p.n FROM table_rows r
      WHERE r.project_id = '${project_id}' AND r.digest = p.digest) o) FROM (${join}) p`;
  const layouts = {
    'one value, read by the slice': {
      fill: `INSERT INTO tables SELECT '${project_id}', 'million', convert_to(string_agg(row_digest, '' ORDER BY n), 'UTF8') FROM ${source} s`,
      page: (from) =>
        page(`
        SELECT p.n, convert_from(substring(p.row_digests FROM p.n * 43 + 1 FOR 43), 'UTF8') AS digest FROM (
          SELECT t.row_digests, generate_series(${from}, ${from} + 99) AS n FROM tables t
          WHERE t.project_id = '${project_id}' AND t.digest = 'million') p`),
      table: 'tables',
    },
    'a row for each place': {
      fill: `INSERT INTO bench_places SELECT '${project_id}', 'million', n, row_digest FROM ${source} s`,
      page: (from) =>
        page(`
        SELECT b.place AS n, b.row_digest AS digest FROM bench_places b
        WHERE b.project_id = '${project_id}' AND b.digest = 'million' AND b.place BETWEEN ${from} AND ${from} + 99 ORDER BY place`),
      table: 'bench_places',
    },
    'arrays of 1000': {
      fill: `INSERT INTO bench_arrays SELECT '${project_id}', 'million', n / 1000, array_agg(row_digest ORDER BY n) FROM ${source} s GROUP BY n / 1000`,
      page: (from) =>
        page(`
        SELECT b.chunk * 1000 + a.i - 1 AS n, a.digest FROM bench_arrays b, unnest(b.row_digests) WITH ORDINALITY a(digest, i)
        WHERE b.project_id = '${project_id}' AND b.digest = 'million' AND b.chunk BETWEEN ${from} / 1000 AND (${from} + 99) / 1000
          AND b.chunk * 1000 + a.i - 1 BETWEEN ${from} AND ${from} + 99 ORDER BY 1`),
      table: 'bench_arrays',
    },
  };
  console.log('a table of 1,000,000 rows: written, page of 100 at the start, at the end, on disk');
  for (const [name, { fill, page: pageAt, table }] of Object.entries(layouts)) {
    const size = async () =>
      Number((await pool.query(`SELECT pg_total_relation_size('${table}') AS n`)).rows[0].n);
    const before = await size();
    const [written] = await timed(() => pool.query(fill));
    line(
      `  ${name}`,
      msText(written),
      msText(await best(20, () => pool.query(pageAt(0)))),
      msText(await best(20, () => pool.query(pageAt(999_900)))),
      mib((await size()) - before),
    );
  }
  const million = { project_id, digest: 'million' };
  line(
    '/table/query: a page of 100 of it at 999,900',
    msText(await best(20, () => json('/table/query', { ...million, limit: 100, offset: 999_900 }))),
  );
  const whole = await memoryOf(async () => drained(await post('/table/query', million)));
  line('/table/query: all of it', msText(whole.time), mib(whole.result), whole.memory);
}

async function files() {
  const SIZE = 60 * 1024 * 1024;
  for (let round = 0; round < 3; round++) {
    const bytes = randomBytes(SIZE);
    const boundary = 'bench-boundary';
    const parts = [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="project_id"\r\n\r\nacme/files\r\n` +
          `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\n`,
      ),
      bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ];
    const upload = () =>
      fetch(`${url}/file/create`, {
        method: 'POST',
        // @ts-expect-error the types of browsers, which stand before those of Node here, do not know it
        duplex: 'half',
        headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
        body: Readable.toWeb(Readable.from(parts)),
      }).then((response) => response.json());
    const created = await memoryOf(upload);
    line('a file of 60 MiB in', msText(created.time), created.memory);
    const again = await timed(upload);
    line('the same again', msText(again[0]));
    const read = await memoryOf(async () =>
      drained(
        await post('/file/content', { project_id: 'acme/files', digest: created.result.digest }),
      ),
    );
    line('out', msText(read.time), read.memory);
  }
}

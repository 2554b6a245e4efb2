// Measures forms of one statement in PostgreSQL: writing rows of calls, and reading calls.
//
//     npm run build && node bench/sql-forms.mjs
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';
import { CopyIn } from '../dist/src/platform/database/copy-in.js';
import { jsonArray, textArray } from '../dist/src/platform/query/binary-array.js';
import { copyCalls } from '../dist/src/tracing/calls/ingest/calls.copy.js';
import { upsertQuery } from '../dist/src/tracing/calls/ingest/calls.upsert.js';
import { dataFolder, withSchema } from './support.mjs';

const SECONDS = 3;
const ROUNDS = 3;
const READ = 50_000;
const dataDir = dataFolder();
const server = await openEmbeddedPostgres({ dataDir });
await withSchema(server.url);
const pool = new pg.Pool({ connectionString: server.url, max: 4 });
pool.on('error', () => {}); // the server stops before its last sessions have ended

const INPUTS = JSON.stringify({
  messages: Array.from({ length: 5 }, (_, i) => ({
    role: 'user',
    content: `text ${i} `.repeat(40),
  })),
});
const TEXTS = ['project_id', 'id', 'trace_id', 'op_name', 'started_at'];
const COLUMNS = [...TEXTS, 'inputs'];
let calls = 0;
const rows = (count) =>
  Array.from({ length: count }, () => ({
    project_id: 'acme/bench',
    id: `call-${++calls}`,
    trace_id: `trace-${calls}`,
    op_name: 'run',
    started_at: '2026-01-31T12:00:00Z',
  }));
const typed = COLUMNS.map((name) => (name === 'started_at' ? `${name}::timestamptz` : name));
const unnest = `INSERT INTO calls (${COLUMNS}) SELECT ${typed} FROM unnest(${TEXTS.map((_, i) => `$${i + 1}::text[]`)}, $6::json[]) AS r (${COLUMNS})`;
const arrays = (count) => {
  const all = rows(count);
  return [
    ...TEXTS.map((name) => textArray(all.map((row) => row[name]))),
    jsonArray(all.map(() => INPUTS)),
  ];
};
/** Rows in the form of `CallsWriter`. */
const writes = (count) =>
  rows(count).map(({ project_id, id, ...texts }) => ({
    projectId: project_id,
    id,
    start: /** @type {any} */ ({ ...texts, attributes: '{}', inputs: INPUTS }),
    isOpaque: false,
  }));

async function copy(count) {
  const client = await pool.connect();
  const { rows: copied } = copyCalls(writes(count), count * INPUTS.length);
  await new Promise((resolve, reject) => {
    client.query(new CopyIn(copied, (error) => (error ? reject(error) : resolve(null))));
  });
  client.release();
}

/** The text and the values of one INSERT of `count` rows. */
const INSERTS = {
  'VALUES, a row each': (count) => ({
    text: `INSERT INTO calls (${COLUMNS}) VALUES ${Array.from({ length: count }, (_, row) => `(${COLUMNS.map((_name, i) => `$${row * 6 + i + 1}`)})`)}`,
    values: rows(count).flatMap((row) => [...TEXTS.map((name) => row[name]), INPUTS]),
  }),
  'json_to_recordset of one JSON array': (count) => ({
    text: `INSERT INTO calls (${COLUMNS}) SELECT ${COLUMNS} FROM json_to_recordset($1::json) AS r (${TEXTS.map((name) => `${name} ${name === 'started_at' ? 'timestamptz' : 'text'}`)}, inputs json)`,
    values: [
      `[${rows(count).map((row) => `${JSON.stringify(row).slice(0, -1)},"inputs":${INPUTS}}`)}]`,
    ],
  }),
  'unnest of binary arrays': (count) => ({ text: unnest, values: arrays(count) }),
  'unnest of binary arrays, prepared': (count) => ({
    name: 'unnest',
    text: unnest,
    values: arrays(count),
  }),
  'the upsert of the service': (count) => upsertQuery(writes(count)),
};
/** Ways to write `count` rows. */
const WRITES = {
  ...Object.fromEntries(
    Object.entries(INSERTS).map(([name, form]) => [name, (count) => pool.query(form(count))]),
  ),
  'the copy of the service': copy,
};

/** CPU seconds of PostgreSQL so far. */
function postgresSeconds() {
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (stat.includes('(postgres)')) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {} // it has ended
  return ticks / 100;
}

async function written(form, count) {
  await pool.query('TRUNCATE calls');
  await pool.query('CHECKPOINT');
  const [began, used, first] = [performance.now(), postgresSeconds(), calls];
  await Promise.all(
    [1, 2, 3, 4].map(async () => {
      while (performance.now() - began < SECONDS * 1000) await form(count);
    }),
  );
  const done = calls - first;
  return {
    rate: done / ((performance.now() - began) / 1000),
    cpu: ((postgresSeconds() - used) / done) * 1e6,
  };
}

async function copied(query) {
  const client = await pool.connect();
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of client.query(copyTo(`COPY (${query}) TO STDOUT`)))
    bytes += chunk.length;
  client.release();
  return ((performance.now() - began) * 1000) / READ;
}

const best = (numbers) => Math.min(...numbers).toFixed(1);
try {
  const {
    rows: [{ version }],
  } = await pool.query(`SELECT current_setting('server_version') AS version`);
  console.log(
    `Node ${process.versions.node}, PostgreSQL ${version}, calls of 1.7 KB, ${ROUNDS} rounds of ${SECONDS} s, 4 connections\n`,
  );
  console.log('| rows a statement | form | rows/s | µs of PostgreSQL a row |\n|--:|---|--:|--:|');
  for (const count of [100, 16]) {
    const found = Object.keys(WRITES).map(() => []);
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, form] of Object.values(WRITES).entries())
        found[i].push(await written(form, count));
    for (const [i, name] of Object.keys(WRITES).entries())
      console.log(
        `| ${count} | ${name} | ${Math.round(Math.max(...found[i].map(({ rate }) => rate)))} | ${best(found[i].map(({ cpu }) => cpu))} |`,
      );
  }

  await pool.query('TRUNCATE calls');
  await pool.query(
    `INSERT INTO calls (project_id, id, trace_id, op_name, started_at, ended_at, user_id, attributes, inputs, output, summary)
     SELECT 'acme/bench', 'call-' || n, 'trace-' || n, 'svc:///acme/bench/op/answer:0123456789abcdef', '2026-01-31T12:00:00Z', '2026-01-31T12:00:07Z', 'ada', '{}', $1, '"x"', '{}'
     FROM generate_series(1, ${READ}) n`,
    [INPUTS],
  );
  await pool.query('VACUUM ANALYZE calls');
  const regular = `coalesce(display_name, substring(op_name FROM '^svc:///[^/]+/[^/]+/op/([^/:]+):'), op_name)`;
  const split = `coalesce(display_name, CASE WHEN starts_with(op_name, 'svc:///') AND split_part(op_name, '/', 4) <> '' AND split_part(op_name, '/', 5) <> ''
    AND split_part(op_name, '/', 6) = 'op' AND strpos(split_part(op_name, '/', 7), ':') > 1 THEN split_part(split_part(op_name, '/', 7), ':', 1) END, op_name)`;
  const READS = {
    columns: 'SELECT * FROM calls',
    'columns and the name of the op by a regular expression': `SELECT *, ${regular} FROM calls`,
    'columns and the name of the op by split_part': `SELECT *, ${split} FROM calls`,
    'row_to_json of the columns': 'SELECT row_to_json(calls)::text FROM calls',
  };
  console.log(`\n| COPY of ${READ} calls | µs a row |\n|---|--:|`);
  for (const [name, query] of Object.entries(READS)) {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await copied(query));
    console.log(`| ${name} | ${best(times)} |`);
  }
} finally {
  await pool.end();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

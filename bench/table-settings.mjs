// Measures what the settings and the indexes of `calls` cost writes: starts, then their ends in a later statement. Runs
// the service's statement directly on PostgreSQL, in batches of 100 over 4 connections.
//
//     npm run build && node bench/table-settings.mjs
import { rmSync } from 'node:fs';
import pg from 'pg';
import { upsertQuery } from '../dist/src/tracing/calls/ingest/calls.upsert.js';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';
import { dataFolder, withSchema } from './support.mjs';

const ROWS = Number(process.env.BENCH_ROWS ?? 40_000);
const ROUNDS = 3;
const dataDir = dataFolder();
const server = await openEmbeddedPostgres({ dataDir });
await withSchema(server.url);
const pool = new pg.Pool({ connectionString: server.url, max: 4 });

/** Words of a text that compresses about as well as prose. */
const WORDS =
  'the of model answer call token thread agent reward state value tool result error'.split(' ');
let seed = 1;
const word = () => WORDS[(seed = (seed * 48271) % 2147483647) % WORDS.length] + (seed % 97);
const prose = (bytes) => {
  let text = '';
  while (text.length < bytes) text += `${word()} `;
  return text.slice(0, bytes);
};
const inputs = (bytes) => JSON.stringify({ messages: [{ role: 'user', content: prose(bytes) }] });
const output = (bytes) => JSON.stringify({ content: prose(bytes) });

let calls = 0;
/** 100 starts, and their ends. A tenth are turns of a thread. */
function batch(bytes) {
  const ids = Array.from(
    { length: 100 },
    () => `0190a000-0000-7000-8000-${String(++calls).padStart(12, '0')}`,
  );
  const row = { projectId: 'acme/bench', isOpaque: false, length: bytes };
  return {
    starts: ids.map((id, i) => ({
      ...row,
      id,
      start: {
        op_name: 'svc:///acme/bench/op/run:abc',
        started_at: '2026-01-31T12:00:00Z',
        trace_id: ids[i - (i % 10)],
        parent_id: i % 10 === 0 ? null : ids[i - (i % 10)],
        thread_id: 'thread-1',
        turn_id: ids[i - (i % 10)],
        user_id: 'ada',
        attributes: '{}',
        inputs: inputs(bytes),
      },
    })),
    ends: ids.map((id) => ({
      ...row,
      id,
      end: { ended_at: '2026-01-31T12:00:07Z', summary: '{"usage":{}}', output: output(bytes / 3) },
    })),
  };
}

async function each(items, work) {
  const rest = [...items];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let item = rest.shift(); item; item = rest.shift()) await work(item);
    }),
  );
  return (items.length * 100) / ((performance.now() - began) / 1000);
}

const INDEXES = (
  await pool.query(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'calls' AND indexname <> 'calls_pkey'`,
  )
).rows;
const shown = (name, cells) => console.log(`| ${[name, ...cells].join(' | ')} |`);

async function measured({ settings = {}, without = [], bytes }) {
  await pool.query('TRUNCATE calls, thread_marks');
  await pool.query('ALTER TABLE calls RESET (fillfactor, toast_tuple_target)');
  for (const [name, value] of Object.entries(settings))
    await pool.query(`ALTER TABLE calls SET (${name} = ${value})`);
  for (const { indexname, indexdef } of INDEXES) {
    await pool.query(`DROP INDEX IF EXISTS ${indexname}`);
    if (!without.includes(indexname)) await pool.query(indexdef);
  }
  await pool.query('CHECKPOINT');
  await pool.query(`SELECT pg_stat_reset_single_table_counters('calls'::regclass)`);
  const batches = Array.from({ length: ROWS / 100 }, () => batch(bytes));
  const prepared = batches.map(({ starts, ends }) =>
    [starts, ends].map((writes) => upsertQuery(/** @type {any} */ (writes))),
  );
  const {
    rows: [{ before }],
  } = await pool.query(`SELECT pg_current_wal_lsn() AS before`);
  const started = await each(prepared, ([query]) => pool.query(query));
  const ended = await each(prepared, ([, query]) => pool.query(query));
  await pool.query('SELECT pg_stat_force_next_flush()');
  const {
    rows: [seen],
  } = await pool.query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8 / 1048576 AS wal, pg_total_relation_size('calls')::float8 / 1048576 AS size,
       (SELECT 100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0) FROM pg_stat_all_tables WHERE relname = 'calls')::float8 AS hot`,
    [before],
  );
  return { started, ended, ...seen };
}

const mean = (list, key) => list.reduce((sum, one) => sum + one[key], 0) / list.length;

/** Runs all variants in turn, ROUNDS times. The others are compared with the first. */
async function table(title, variants) {
  console.log(
    `\n${title}\n\n| | starts/s | | ends/s | | HOT | WAL MiB | size MiB |\n|---|--:|--:|--:|--:|--:|--:|--:|`,
  );
  const found = variants.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, [, options]] of variants.entries()) found[i].push(await measured(options));
  for (const [i, [name]] of variants.entries())
    shown(name, [
      Math.round(mean(found[i], 'started')),
      (mean(found[i], 'started') / mean(found[0], 'started')).toFixed(2),
      Math.round(mean(found[i], 'ended')),
      (mean(found[i], 'ended') / mean(found[0], 'ended')).toFixed(2),
      `${mean(found[i], 'hot').toFixed(0)} %`,
      mean(found[i], 'wal').toFixed(0),
      mean(found[i], 'size').toFixed(0),
    ]);
}

try {
  const {
    rows: [{ version }],
  } = await pool.query(`SELECT current_setting('server_version') AS version`);
  console.log(
    `Node ${process.versions.node}, PostgreSQL ${version}, ${ROWS} calls, ${ROUNDS} rounds`,
  );
  for (const bytes of [1200, 4500])
    await table(`Settings, inputs of ${bytes} bytes and output of a third`, [
      ['default', { bytes }],
      ['toast_tuple_target 4080', { bytes, settings: { toast_tuple_target: 4080 } }],
      ['toast_tuple_target 8160', { bytes, settings: { toast_tuple_target: 8160 } }],
      ['… and fillfactor 90', { bytes, settings: { toast_tuple_target: 8160, fillfactor: 90 } }],
      ['… and fillfactor 70', { bytes, settings: { toast_tuple_target: 8160, fillfactor: 70 } }],
      ['… and fillfactor 50', { bytes, settings: { toast_tuple_target: 8160, fillfactor: 50 } }],
    ]);
  const turns = ['calls_turns_idx', 'calls_turns_started_idx'];
  const settings = { toast_tuple_target: 8160 };
  await table('Without an index, inputs of 1200 bytes, toast_tuple_target 8160', [
    ['all indexes', { bytes: 1200, settings }],
    ...INDEXES.map(({ indexname }) => [
      `without ${indexname}`,
      { bytes: 1200, settings, without: [indexname] },
    ]),
    ['without both of turns: ends can be HOT', { bytes: 1200, settings, without: turns }],
    [
      '… and fillfactor 70',
      { bytes: 1200, settings: { ...settings, fillfactor: 70 }, without: turns },
    ],
    [
      '… and fillfactor 50',
      { bytes: 1200, settings: { ...settings, fillfactor: 50 }, without: turns },
    ],
  ]);
} finally {
  await pool.end();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

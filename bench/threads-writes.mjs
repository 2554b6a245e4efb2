/**
 * Compares ways to keep thread statistics exact, by their cost for the writer. Runs them in turns through the statement
 * that stores calls (four connections, 500 calls a statement, 2 KB a call).
 *
 *     npm run build && node bench/threads-writes.mjs [rounds=5] [batches=40]
 */
import { rmSync } from 'node:fs';
import pg from 'pg';
import { dataFolder, withSchema } from './support.mjs';

const ROUNDS = Number(process.argv[2] ?? 5);
const BATCHES = Number(process.argv[3] ?? 40);
const PER_BATCH = 500;
const WRITERS = 4;
const TURNS_PER_THREAD = 10;

const load = (path) => import(new URL(`../dist/${path}`, import.meta.url).href);
const { openEmbeddedPostgres } = await load('src/platform/postgres/embedded-postgres.js');
const { upsertQuery } = await load('src/tracing/calls/ingest/calls.upsert.js');

const NO_INDEXES = `DROP INDEX calls_turns_idx; DROP INDEX calls_turns_started_idx`;
const NO_TRIGGERS = ['inserted', 'updated', 'deleted']
  .map((name) => `DROP TRIGGER calls_mark_${name} ON calls`)
  .join(';');
const IS_TURN = `id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`;
const THREADS_OF = (table) => `SELECT project_id, thread_id FROM ${table} WHERE ${IS_TURN}`;
const PER_STATEMENT = `
  CREATE FUNCTION mark_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO thread_marks (project_id, thread_id) SELECT DISTINCT * FROM (${THREADS_OF('added')}) t; RETURN NULL; END $$;
  CREATE FUNCTION mark_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO thread_marks (project_id, thread_id)
      SELECT * FROM (${THREADS_OF('removed')} UNION ${THREADS_OF('added')}) t; RETURN NULL; END $$;
  CREATE TRIGGER a AFTER INSERT ON calls REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mark_new();
  CREATE TRIGGER b AFTER UPDATE ON calls REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION mark_changed()`;

/**
 * Marks in the statement itself. It cannot know the thread that a turn has left, so this is the cost of inexact marks.
 */
const inStatement = (text) =>
  `WITH stored AS (${text}, thread_id, id = turn_id AS is_turn), marked AS (
    INSERT INTO thread_marks (project_id, thread_id) SELECT DISTINCT project_id, thread_id FROM stored
    WHERE is_turn AND thread_id <> '') SELECT project_id, id, trace_id FROM stored`;
/** The writer keeps the summary itself: a row per thread, locked until the writer commits. */
const summed = (text) =>
  `WITH stored AS (${text}, thread_id, started_at, ended_at, id = turn_id AS is_turn), kept AS (
    INSERT INTO threads AS t SELECT project_id, thread_id, count(*), min(started_at), max(coalesce(ended_at, started_at)),
      min(id), max(id) FROM stored WHERE is_turn GROUP BY project_id, thread_id ORDER BY project_id, thread_id
    ON CONFLICT (project_id, thread_id) DO UPDATE SET turn_count = t.turn_count + excluded.turn_count,
      start_time = least(t.start_time, excluded.start_time), last_updated = greatest(t.last_updated, excluded.last_updated)
  ) SELECT project_id, id, trace_id FROM stored`;

const VARIANTS = {
  'no indexes, no marks': { setup: `${NO_INDEXES}; ${NO_TRIGGERS}` },
  'index by thread': { setup: `DROP INDEX calls_turns_started_idx; ${NO_TRIGGERS}` },
  'both indexes': { setup: NO_TRIGGERS },
  'marks, trigger a row': { setup: '' },
  'marks, trigger a statement': { setup: `${NO_TRIGGERS}; ${PER_STATEMENT}` },
  'marks in the statement (inexact)': { setup: NO_TRIGGERS, wrap: inStatement },
  'sums in the statement (inexact)': { setup: NO_TRIGGERS, wrap: summed },
};

const dataDir = dataFolder();
const server = await openEmbeddedPostgres({ dataDir });
const admin = new pg.Client(server.url);
await admin.connect();
const urlOf = (name) => server.url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
await admin.query('CREATE DATABASE template_db');
await withSchema(urlOf('template_db'));

const INPUTS = JSON.stringify({ filler: 'the quick brown fox '.repeat(90) });
let number = 0;
const pad = (n) => String(n).padStart(12, '0');
/** Starts and ends of 500 calls, in the form of `upsertQuery`. `none` is without a thread. */
function batch(kind) {
  return Array.from({ length: PER_BATCH }, (_, i) => {
    const n = number++;
    const id = `0190a000-0000-7000-8000-${pad(n)}`;
    const thread =
      kind === 'hot'
        ? 'hot'
        : `thread-${pad(Math.floor(n / PER_BATCH / TURNS_PER_THREAD) * PER_BATCH + i)}`;
    return {
      projectId: 'acme/demo',
      id,
      isOpaque: false,
      start: {
        op_name: 'chat',
        started_at: new Date(1.7e12 + n * 100).toISOString(),
        trace_id: id,
        ...(kind !== 'none' && { thread_id: thread, turn_id: id }),
        attributes: '{}',
        inputs: INPUTS,
      },
      end: { ended_at: new Date(1.7e12 + n * 100).toISOString(), output: '"ok"', summary: '{}' },
    };
  });
}

/** The statement that stores the writes, inside the variant's own statement, which reads its result. */
function query(writes, wrap) {
  const { text, values } = upsertQuery(writes);
  const returning = text.includes('RETURNING') ? '' : ' RETURNING project_id, id, trace_id';
  return { text: wrap(text + returning), values };
}

/** Calls per second, with start and end of a call in one statement or in two. */
async function run(pool, wrap, kind, isSplit) {
  const batches = Array.from({ length: BATCHES }, () => batch(kind));
  await pool.query('CHECKPOINT');
  const started = performance.now();
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (let next; (next = batches.pop());) {
        const statements = isSplit
          ? [
              next.map(({ end: _end, ...write }) => write),
              next.map(({ start: _start, ...write }) => write),
            ]
          : [next];
        for (const writes of statements) await pool.query(query(writes, wrap));
      }
    }),
  );
  return Math.round((BATCHES * PER_BATCH * 1000) / (performance.now() - started));
}

const rows = {};
for (let round = 0; round < ROUNDS; round++)
  for (const [name, { setup, wrap = (text) => text }] of Object.entries(VARIANTS)) {
    await admin.query('DROP DATABASE IF EXISTS run_db');
    await admin.query('CREATE DATABASE run_db TEMPLATE template_db');
    const pool = new pg.Pool({
      connectionString: urlOf('run_db'),
      max: WRITERS,
      options: '-c timezone=UTC -c jit=off',
    });
    if (setup) await pool.query(setup);
    await run(pool, wrap, 'none', true); // warms up
    for (const kind of ['none', 'spread', 'hot'])
      for (const isSplit of [false, true])
        ((rows[name] ??= {})[`${kind}${isSplit ? ', split' : ''}`] ??= []).push(
          await run(pool, wrap, kind, isSplit),
        );
    await pool.end();
  }
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
for (const row of Object.values(rows)) for (const key in row) row[key] = median(row[key]);
const base = Object.values(rows)[0];
console.log(
  `calls a second, median of ${ROUNDS} rounds; beside them the cost in time against the first line, no thread`,
);
console.table(
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => [
      name,
      Object.fromEntries(
        Object.entries(row).map(([key, value]) => [
          key,
          `${value} (${((key.endsWith('split') ? base['none, split'] : base.none) / value).toFixed(2)})`,
        ]),
      ),
    ]),
  ),
);
await admin.end();
await server.stop();
rmSync(dataDir, { recursive: true, force: true });

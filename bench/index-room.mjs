// Measures the space in the indexes of calls when half of the calls are erased and as many are loaded: without VACUUM,
// after one, after two with a transaction between them, and after REINDEX. Prints the size of all indexes in MB. Needs
// an empty database of a server with autovacuum = off.
//
//     npm run build && node bench/index-room.mjs postgres://…
import pg from 'pg';
import { withSchema } from './support.mjs';

const CALLS = 300_000;
const ROWS = 1000;
const CARE = {
  nothing: [],
  VACUUM: ['VACUUM calls'],
  'VACUUM twice': ['VACUUM calls', 'SELECT pg_current_xact_id()', 'VACUUM calls'],
  REINDEX: ['VACUUM calls', 'REINDEX TABLE CONCURRENTLY calls'],
};

await withSchema(process.argv[2]);
const client = new pg.Client(process.argv[2]);
await client.connect();
await client.query('ALTER TABLE calls DISABLE TRIGGER USER');
const table = {};
for (const [name, statements] of Object.entries(CARE)) {
  await client.query('TRUNCATE calls');
  await load(0, CALLS);
  const loaded = await size();
  await client.query('DELETE FROM calls WHERE started_at < $1', [start(CALLS / 2)]);
  for (const statement of statements) await client.query(statement);
  await load(CALLS, CALLS * 1.5);
  const after = await size();
  table[name] = { loaded, after, 'after / loaded': (after / loaded).toFixed(2) };
}
console.table(table);
await client.end();

function start(n) {
  return new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
}

async function load(from, to) {
  for (let first = from; first < to; first += ROWS)
    await client.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, thread_id, turn_id, attributes, inputs, summary)
       SELECT 'a/b', id, 'op', id, timestamptz '2026-01-01 00:00Z' + n * interval '1 s', 'thread ' || n / 10, id, '{}', '{}', '{}'
       FROM (SELECT n, to_hex(n) || '-' || md5(n::text) AS id FROM generate_series($1::int, $2::int) n) c`,
      [first, first + ROWS - 1],
    );
}

async function size() {
  const { rows } = await client.query(`SELECT pg_indexes_size('calls') / 1e6 AS mb`);
  return Math.round(rows[0].mb);
}

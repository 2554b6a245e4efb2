// Measures size and speed after half of the calls are erased and as many are loaded again, over HTTP on an embedded
// PostgreSQL of its own.
//
//     npm run build && node bench/erase.mjs [calls=200000]
import { setTimeout as sleep } from 'node:timers/promises';
import { serviceAndDatabase } from './support.mjs';

const CALLS = Number(process.argv[2] ?? 200_000);
const BATCH = 100;
const CLIENTS = 4;
const ROUNDS = 200;
const project_id = 'bench/erase';

const { url, headers, client, close } = await serviceAndDatabase();

try {
  await load(0, CALLS / 2);
  const first = await load(CALLS / 2, CALLS);
  const before = await measured(first);
  const began = performance.now();
  const { is_done } = await post('/calls/purge', {
    project_id,
    before: new Date(start(CALLS / 2)).toISOString(),
  });
  for (let isDone = is_done; !isDone; await sleep(200)) {
    const { rows } = await client.query('SELECT 1 FROM erasings WHERE ended_at IS NULL');
    isDone = rows.length === 0;
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `erased ${CALLS / 2} of ${CALLS} calls in ${seconds.toFixed(1)} s, ${Math.round(CALLS / 2 / seconds)} calls/s`,
  );
  for (let runs = 0; runs < 2; await sleep(500)) {
    const { rows } = await client.query(
      `SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'calls'`,
    );
    runs = Number(rows[0].vacuum_count); // the service has started one itself
  }
  console.log(`VACUUM had run twice after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const second = await load(CALLS, CALLS * 1.5);
  const after = await measured(second);
  console.table(
    Object.entries(before).map(([what, was]) => ({
      what,
      before: was,
      after: after[what],
      'after / before': (after[what] / was).toFixed(2),
    })),
  );
} finally {
  await close();
}

/** The start of the n-th call: one per second. */
function start(n) {
  return Date.UTC(2026, 0, 1) + n * 1000;
}

async function post(path, body) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Loads calls of 1 KB, turns of threads of ten. Returns calls per second. */
async function load(from, to) {
  const began = performance.now();
  let next = from;
  const work = async () => {
    while (next < to) {
      const first = next;
      next += BATCH;
      await post('/v2/bench/erase/calls/complete', {
        batch: batchOf(first, Math.min(first + BATCH, to)),
      });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  return Math.round((to - from) / ((performance.now() - began) / 1000));
}

function batchOf(from, to) {
  const calls = [];
  for (let n = from; n < to; n++) {
    const id = `${n.toString(16).padStart(8, '0')}-${Math.random().toString(36).slice(2)}`;
    calls.push({
      project_id,
      id,
      turn_id: id,
      thread_id: `thread ${Math.floor(n / 10)}`,
      trace_id: id,
      op_name: `op-${n % 20}`,
      started_at: new Date(start(n)).toISOString(),
      ended_at: new Date(start(n) + 500).toISOString(),
      inputs: { messages: [{ role: 'user', content: `lorem ipsum ${n} `.repeat(50) }] },
      output: { text: `dolor sit amet ${n}` },
      summary: { usage: { 'gpt-4o': { prompt_tokens: 100, completion_tokens: 20 } } },
    });
  }
  return calls;
}

/** Measures size and speed after all thread marks are processed. `callsPerSecond` is the rate of the last load. */
async function measured(callsPerSecond) {
  while ((await client.query(`SELECT 1 FROM thread_marks LIMIT 1`)).rows.length > 0)
    await sleep(500);
  const { rows } = await client.query(
    `SELECT pg_table_size('calls') AS data, pg_indexes_size('calls') AS indexes`,
  );
  const { rows: indexes } = await client.query(
    `SELECT indexrelname AS name, round(pg_relation_size(indexrelid) / 1e6)::int AS mb
     FROM pg_stat_user_indexes WHERE relname = 'calls' ORDER BY 1`,
  );
  const newest = { project_id, limit: 50, sort_by: [{ field: 'started_at', direction: 'desc' }] };
  return {
    'table, MB': Math.round(rows[0].data / 1e6),
    'indexes, MB': Math.round(rows[0].indexes / 1e6),
    ...Object.fromEntries(indexes.map(({ name, mb }) => [`${name}, MB`, mb])),
    'batches of 100 a second': Math.round(callsPerSecond / BATCH),
    'newest 50, ms (median)':
      Math.round(10 * (await timed(() => post('/calls/query', newest)))) / 10,
  };
}

/** The median in milliseconds. */
async function timed(work) {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[ROUNDS / 2];
}

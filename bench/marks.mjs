/**
 * Measures what statistics and counts cost ingest: the rate with and without the triggers that mark slots, in turns on
 * one service with an embedded PostgreSQL of durable settings. With `index` every other round has an additional index
 * instead, which measures the cost of an index.
 *
 *     npm run build && node bench/marks.mjs
 *     npm run build && node bench/marks.mjs index '(project_id, user_id, started_at)'
 *
 * Ratios are medians over the rounds. The ratio of the CPU, of the service and PostgreSQL together, does not change
 * with other work on the machine.
 */
import { once } from 'node:events';
import http from 'node:http';
import { cpuMeter, serviceAndDatabase } from './support.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 2000;
const [mode = 'marks', ...indexes] = process.argv.slice(2);

const { url, client, headers, close } = await serviceAndDatabase();
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
process.setMaxListeners(0);

async function post(path, body) {
  const request = http.request(url + path, { method: 'POST', headers, agent });
  request.end(JSON.stringify(body));
  const [response] = await once(request, 'response');
  for await (const chunk of response) void chunk;
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`);
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

let numbers = 0;
const text = 'x'.repeat(700);
function item() {
  const n = numbers++;
  const id = `${process.pid}-${n}`;
  const at = new Date().toISOString();
  const start = {
    project_id: 'acme/ingest',
    id,
    op_name: `op${n % 7}`,
    trace_id: id,
    started_at: at,
    attributes: {},
    inputs: { text },
    ...(n % 5 === 0 && { thread_id: `thread${n % 1000}`, turn_id: id }),
  };
  const end = {
    project_id: 'acme/ingest',
    id,
    ended_at: at,
    output: { text },
    summary: { usage: { 'gpt-4o': { prompt_tokens: 100, completion_tokens: 20 } } },
  };
  return [
    { mode: 'start', req: { start } },
    { mode: 'end', req: { end } },
  ];
}
const WAYS = {
  'batches of 50 calls, start and end': () =>
    post('/call/upsert_batch', { batch: Array.from({ length: 50 }, item).flat() }).then(() => 50),
  'batches of 100 starts, then of their ends': async () => {
    const calls = Array.from({ length: 100 }, item);
    await post('/call/upsert_batch', { batch: calls.map(([start]) => start) });
    await post('/call/upsert_batch', { batch: calls.map(([, end]) => end) });
    return 100;
  },
  'single starts': async () => {
    const [{ req }] = item();
    await post('/call/start', req);
    return 1;
  },
};
async function rate(send, connections) {
  const end = performance.now() + ROUND_MS;
  let calls = 0;
  const started = performance.now();
  const used = cpuMeter(process.pid); // the service and its PostgreSQL are children of this process
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const sent = await send(); // as a statement of its own: in one expression the sum would begin with an old value of `calls`
        calls += sent;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  return { rate: calls / seconds, cpu: (used().postgres * 1e6) / calls };
}

async function arrange(way) {
  if (mode === 'index') {
    for (const [i, definition] of indexes.entries())
      await client.query(
        way === 'with'
          ? `CREATE INDEX bench_${i}_idx ON calls ${definition}`
          : `DROP INDEX IF EXISTS bench_${i}_idx`,
      );
    return;
  }
  const state = way === 'with' ? 'ENABLE' : 'DISABLE';
  for (const event of ['inserted', 'updated', 'deleted'])
    await client.query(`ALTER TABLE calls ${state} TRIGGER calls_mark_slots_${event}`);
}

/** Alternates between the two, so that other work on the machine affects both. */
async function compare(send, connections) {
  await rate(send, connections);
  const rates = { with: [], without: [] };
  for (let i = 0; i < ROUNDS; i++)
    for (const way of i % 2 ? ['with', 'without'] : ['without', 'with']) {
      await arrange(way);
      rates[way].push(await rate(send, connections));
      await client.query(`DELETE FROM calls WHERE project_id = 'acme/ingest'`);
      await client.query('VACUUM calls');
    }
  const of = (way, what) => Math.round(median(rates[way].map((round) => round[what])));
  const ratio = (what) =>
    Number(median(rates.with.map((round, i) => round[what] / rates.without[i][what])).toFixed(3));
  return {
    'calls/s without': of('without', 'rate'),
    with: of('with', 'rate'),
    ratio: ratio('rate'),
    'CPU µs a call without': of('without', 'cpu'),
    'with ': of('with', 'cpu'),
    'ratio ': ratio('cpu'),
  };
}

try {
  const rows = {};
  for (const [name, send] of Object.entries(WAYS))
    rows[name] = await compare(send, name.startsWith('single') ? 64 : 8);
  console.log(mode === 'index' ? `an index on ${indexes.join(' and ')}` : 'marks');
  console.table(rows);
} finally {
  await close();
}

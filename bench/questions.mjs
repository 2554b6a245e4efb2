/**
 * What the statistics of calls cost: a request of 30 days in hours over HTTP beside the naive query on the same data, and
 * ingest with and without the marks, in one run. Starts an embedded PostgreSQL with durable settings and the service on it.
 *   npm run build && node bench/questions.mjs [calls...=200000 1000000]
 * Calls of 1.7 KB with a model each (three of them, one priced by the project), over 30 days, 1 % without an end, 2 % errors.
 * `naive` is the usual query straight on PostgreSQL, without HTTP; it prices nothing.
 */
import { once } from 'node:events';
import http from 'node:http';
import { serviceAndDatabase } from './support.mjs';

const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [2e5, 1e6];
const PROJECT = 'acme/bench';
const WINDOW = { start: '2026-01-01T00:00:00Z', end: '2026-01-31T00:00:00Z' };
const AT_ONCE = 20_000;
const READS = 7;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 2000;

const { url, client, headers, close } = await serviceAndDatabase();
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
process.setMaxListeners(0);

async function post(path, body) {
  const request = http.request(url + path, { method: 'POST', headers, agent });
  request.end(typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = await once(request, 'response');
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text.slice(0, 500)}`);
  return text;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
async function timed(run, reads = READS) {
  const times = [];
  for (let i = 0; i < reads; i++) {
    const started = performance.now();
    await run();
    times.push(performance.now() - started);
  }
  return median(times);
}
const ms = (value) => Number(value.toFixed(1));

const FILL = `
  INSERT INTO calls (project_id, id, op_name, trace_id, user_id, started_at, ended_at, exception, attributes, inputs, output, summary)
  SELECT $1, '0190a000-0000-7000-8000-' || lpad(n::text, 12, '0'), 'op' || n % 7, 't' || n / 5, 'ada', at,
    CASE WHEN n % 100 > 0 THEN at + random() * random() * interval '30 s' END,
    CASE WHEN n % 50 = 1 THEN 'no' END, '{}', json_build_object('text', repeat(md5(n::text), 24)),
    json_build_object('text', repeat(md5((n + 1)::text), 24)),
    CASE WHEN n % 100 > 0 THEN json_build_object('usage', json_build_object((ARRAY['gpt-4o', 'mine', 'claude-sonnet-4-5'])[1 + n % 3],
      json_build_object('prompt_tokens', 100 + n % 1000, 'completion_tokens', n % 300, 'requests', 1))) END
  FROM (SELECT n, $4::timestamptz + n * (interval '30 days' / $5::float8) AS at
    FROM generate_series($2::int, $3::int) n) t`;

async function fill(from, to, total, project = PROJECT) {
  for (let n = from; n < to; n += AT_ONCE)
    await client.query(FILL, [project, n, Math.min(n + AT_ONCE, to) - 1, WINDOW.start, total]);
}

const metrics = {
  calls: [
    { metric: 'call_count' },
    { metric: 'error_count' },
    { metric: 'latency_ms', aggregations: ['avg'], percentiles: [50, 95, 99] },
  ],
  usage: [{ metric: 'total_tokens' }, { metric: 'total_cost' }],
};
const ask = (more) => () =>
  post('/calls/stats', { project_id: PROJECT, ...WINDOW, granularity: 3600, ...more });
const US = `(extract(epoch FROM ended_at - started_at) * 1000)::float8`;
const SHOWN = `FROM calls WHERE project_id = '${PROJECT}' AND op_name IS NOT NULL AND deleted_at IS NULL
  AND started_at >= '${WINDOW.start}' AND started_at < '${WINDOW.end}'`;
const NAIVE_CALLS = `SELECT date_trunc('hour', started_at), count(*), count(exception), avg(${US}),
  percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY ${US}) ${SHOWN} GROUP BY 1`;
const NAIVE_USAGE = `SELECT date_trunc('hour', started_at), u.key, sum((u.value ->> 'prompt_tokens')::bigint),
  sum((u.value ->> 'completion_tokens')::bigint)
  FROM (SELECT * ${SHOWN}) c CROSS JOIN LATERAL json_each(summary -> 'usage') u GROUP BY 1, 2`;
const naive = (text) => () => client.query(text);
const QUESTIONS = [
  ['30 days in hours: counts, p50, p95, p99', { call_metrics: metrics.calls }, NAIVE_CALLS],
  ['30 days in hours: tokens and cost by model', { usage_metrics: metrics.usage }, NAIVE_USAGE],
  [
    'both',
    { call_metrics: metrics.calls, usage_metrics: metrics.usage },
    `${NAIVE_CALLS}; ${NAIVE_USAGE}`,
  ],
  [
    'both, days of Berlin',
    {
      call_metrics: metrics.calls,
      usage_metrics: metrics.usage,
      granularity: 86400,
      timezone: 'Europe/Berlin',
    },
    null,
  ],
  [
    'both, of one op (read call by call)',
    { call_metrics: metrics.calls, usage_metrics: metrics.usage, filter: { op_names: ['op1'] } },
    null,
  ],
];

const marks = async () =>
  (
    await client.query(`SELECT count(*)::int AS marks FROM call_slot_marks WHERE project_id = $1`, [
      PROJECT,
    ])
  ).rows[0].marks;
async function refreshed() {
  const started = performance.now();
  while ((await client.query('SELECT FROM call_slot_marks LIMIT 1')).rowCount > 0)
    await new Promise((resolve) => setTimeout(resolve, 200));
  return (performance.now() - started) / 1000;
}

/** The refresher leaves the project alone as long as this connection holds its lock. */
const HOLD = [0x736c6f74, PROJECT];

async function questions() {
  await post('/cost/create', {
    project_id: PROJECT,
    costs: {
      mine: { prompt_token_cost: 0.25, completion_token_cost: 1, effective_date: '2020-01-01' },
    },
  });
  let filled = 0;
  for (const size of SIZES) {
    await client.query('DELETE FROM calls WHERE project_id = $1', [PROJECT]);
    await client.query('VACUUM calls');
    await refreshed();
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', HOLD);
    await fill(0, size, size);
    filled = size;
    const rows = {};
    const behind = await timed(ask(QUESTIONS[2][1]), 1);
    await client.query('SELECT pg_advisory_unlock_all()');
    const caughtUp_s = await refreshed();
    for (const [name, body, sql] of QUESTIONS)
      rows[name] = {
        'ms over HTTP': ms(await timed(ask(body), sql ? READS : 3)),
        'naive ms': sql ? ms(await timed(naive(sql), 2)) : '',
      };
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', HOLD);
    await client.query(
      `UPDATE calls SET display_name = 'x' WHERE project_id = $1 AND started_at > $2::timestamptz - interval '30 minutes'`,
      [PROJECT, WINDOW.end],
    );
    rows[`both, ${await marks()} slots marked`] = {
      'ms over HTTP': ms(await timed(ask(QUESTIONS[2][1]))),
    };
    await client.query('SELECT pg_advisory_unlock_all()');
    console.log(
      `${filled} calls; every slot marked: ${ms(behind)} ms; until refreshed: ${ms(caughtUp_s)} s`,
    );
    console.table(rows);
    const { rows: sizes } = await client.query(
      `SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) AS size FROM pg_class WHERE relname IN ('calls', 'call_slots', 'call_slot_models') ORDER BY 1`,
    );
    console.log(sizes.map(({ relname, size }) => `${relname} ${size}`).join(', '));
  }
}

let numbers = 0;
const text = 'x'.repeat(700);
function item() {
  const id = `${process.pid}-${numbers++}`;
  const at = new Date().toISOString();
  return [
    {
      mode: 'start',
      req: {
        start: {
          project_id: 'acme/ingest',
          id,
          op_name: 'op',
          trace_id: id,
          started_at: at,
          attributes: {},
          inputs: { text },
        },
      },
    },
    {
      mode: 'end',
      req: {
        end: {
          project_id: 'acme/ingest',
          id,
          ended_at: at,
          output: { text },
          summary: { usage: { 'gpt-4o': { prompt_tokens: 100, completion_tokens: 20 } } },
        },
      },
    },
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
};
async function rate(send) {
  const end = performance.now() + ROUND_MS;
  let calls = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (performance.now() < end) calls += await send();
    }),
  );
  return (calls / (performance.now() - started)) * 1000;
}

/** With and without marks in turns, so that both meet the same neighbours on the machine. */
async function ingest() {
  const rows = {};
  for (const [name, send] of Object.entries(WAYS)) {
    await rate(send);
    const rates = { with: [], without: [] };
    for (let i = 0; i < ROUNDS; i++)
      for (const way of i % 2 ? ['with', 'without'] : ['without', 'with']) {
        for (const event of ['inserted', 'updated', 'deleted'])
          await client.query(
            `ALTER TABLE calls ${way === 'with' ? 'ENABLE' : 'DISABLE'} TRIGGER calls_mark_slots_${event}`,
          );
        rates[way].push(await rate(send));
        await client.query(`DELETE FROM calls WHERE project_id = 'acme/ingest'`);
        await client.query('VACUUM calls');
      }
    rows[name] = {
      'calls/s without marks': Math.round(median(rates.without)),
      'with marks': Math.round(median(rates.with)),
      'median of the rounds’ ratios': Number(
        median(rates.with.map((value, i) => value / rates.without[i])).toFixed(3),
      ),
    };
  }
  console.table(rows);
}

try {
  if (process.env.BENCH_ONLY !== 'questions') await ingest();
  if (process.env.BENCH_ONLY !== 'ingest') await questions();
} finally {
  await close();
}

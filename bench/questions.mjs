/**
 * Measures queries of a console over HTTP, each with the naive query on the same data in the same run: pages of calls
 * (newest, by status, op, user, thread, ...), right after the load and after PostgreSQL has analysed the table; counts;
 * hourly statistics of 30 days. Starts an embedded PostgreSQL with durable settings and the service.
 *
 *     npm run build && node bench/questions.mjs [calls...=200000 1000000] [--small]
 *
 * The calls have 1.7 KB each (0.1 KB with `--small`, then without naive queries). They cover 30 days, five a trace,
 * with three models, one of which the project prices. A thousand other projects have ten calls each. 0.02 % are errors,
 * 0.01 % run, 0.002 % have a rare op.
 *
 * `naive` is the usual query directly on PostgreSQL, without HTTP and without prices. bench/marks.mjs measures what
 * marks cost ingest.
 */
import { once } from 'node:events';
import http from 'node:http';
import { parseArgs } from 'node:util';
import { serviceAndDatabase } from './support.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { small: { type: 'boolean', default: false } },
});
const SIZES = positionals.length > 0 ? positionals.map(Number) : [2e5, 1e6];
/** How often a text of 32 characters is repeated in inputs and in outputs. */
const REPEATED = options.small ? 1 : 24;
const PROJECT = 'acme/bench';
const WINDOW = { start: '2026-01-01T00:00:00Z', end: '2026-01-31T00:00:00Z' };
const AT_ONCE = 20_000;
const READS = 7;

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
  if (response.statusCode !== 200)
    throw new Error(`${response.statusCode} ${JSON.parse(text).detail}`);
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
/** Milliseconds, or the error of a query that the service did not finish: one that reads all of five million calls. */
const msOrRefusal = (run, reads) => timed(run, reads).then(ms, ({ message }) => message);

const FILL = `
  INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, thread_id, turn_id, user_id, started_at, ended_at, exception,
    has_descendant_error, attributes, inputs, output, summary)
  SELECT $1, id, CASE WHEN n % 50000 = 7 THEN 'rare' ELSE 'op' || n % 7 END, root, CASE WHEN n % 5 > 0 THEN root END,
    CASE WHEN n % 10 < 5 THEN 'thread-' || n / 100 END, CASE WHEN n % 10 < 5 THEN root END,
    CASE WHEN n % 20000 = 3 THEN 'rarely' ELSE 'user' || n % 3 END, at,
    CASE WHEN n % 10000 > 0 THEN at + random() * random() * interval '30 s' END, CASE WHEN n % 5000 = 1 THEN 'no' END,
    n % 5000 = 0, '{}', json_build_object('text', repeat(md5(n::text), ${REPEATED})),
    json_build_object('text', repeat(md5((n + 1)::text), ${REPEATED})),
    CASE WHEN n % 100 > 0 THEN json_build_object('usage', json_build_object((ARRAY['gpt-4o', 'mine', 'claude-sonnet-4-5'])[1 + n % 3],
      json_build_object('prompt_tokens', 100 + n % 1000, 'completion_tokens', n % 300, 'requests', 1))) END
  FROM (SELECT n, 'call-' || lpad(n::text, 12, '0') AS id, 'call-' || lpad((n - n % 5)::text, 12, '0') AS root,
      $4::timestamptz + n * (interval '30 days' / $5::float8) AS at
    FROM generate_series($2::int, $3::int) n) t`;

async function fill(from, to, total, project = PROJECT) {
  for (let n = from; n < to; n += AT_ONCE)
    await client.query(FILL, [project, n, Math.min(n + AT_ONCE, to) - 1, WINDOW.start, total]);
}

const NEWEST = [{ field: 'started_at', direction: 'desc' }];
const page = (more) => () =>
  post('/calls/stream_query', { project_id: PROJECT, sort_by: NEWEST, limit: 50, ...more });
const where = (condition, order = 'started_at DESC, id') =>
  `SELECT * FROM calls WHERE project_id = '${PROJECT}' AND op_name IS NOT NULL AND deleted_at IS NULL AND ${condition}
   ORDER BY ${order} LIMIT 50`;
const STATUS = `CASE WHEN exception IS NOT NULL THEN 'error' WHEN ended_at IS NULL THEN 'running'
  WHEN has_descendant_error THEN 'descendant_error' ELSE 'success' END`;
const hasStatus = (status) => ({
  query: { $expr: { $eq: [{ $getField: 'summary.svc.status' }, { $literal: status }] } },
});
const isAbove = (name, than) => ({
  query: { $expr: { $gt: [{ $getField: `summary.svc.${name}` }, { $literal: than }] } },
});
const status = (name) => [hasStatus(name), where(`${STATUS} = '${name}'`)];
const one = (n) => `call-${String(n - (n % 10)).padStart(12, '0')}`;
const isOp = (name) => ({ $eq: [{ $getField: 'op_name' }, { $literal: name }] });
const related = ($expr, filter = {}) => [{ query: { $expr }, filter }, null];
/** Conditions on other calls of the trace. A fifth of the calls are roots, with four calls below each. */
const RELATED = {
  'roots with any rare op': related({ $any: isOp('rare') }, { trace_roots_only: true }),
  'roots with any op3': related({ $any: isOp('op3') }, { trace_roots_only: true }),
  'roots with any op that no call has': related({ $any: isOp('none') }, { trace_roots_only: true }),
  'below a parent of a rare op': related({ $parent: isOp('rare') }),
  'below a parent of op3': related({ $parent: isOp('op3') }),
  'under a rare op': related({ $ancestor: isOp('rare') }),
  'under op3': related({ $ancestor: isOp('op3') }),
  'of a rare op, under op3': related({ $and: [isOp('rare'), { $ancestor: isOp('op3') }] }),
  'roots whose first model call is op3': related(
    { $first_llm: isOp('op3') },
    { trace_roots_only: true },
  ),
  'of more than 3 children': related({ $gt: [{ $child_count: {} }, { $literal: 3 }] }),
  'of more than 4 children (reads all)': related({ $gt: [{ $child_count: {} }, { $literal: 4 }] }),
};
/** Queries, each with the naive condition. */
const lists = (size) => ({
  newest: [{}, where('TRUE')],
  'newest roots': [{ filter: { trace_roots_only: true } }, where('parent_id IS NULL')],
  'newest roots from the 20,000th': [
    { filter: { trace_roots_only: true }, offset: 20_000 },
    `${where('parent_id IS NULL')} OFFSET 20000`,
  ],
  'of status success': status('success'),
  'of status error': status('error'),
  'of status running': status('running'),
  'of an op': [{ filter: { op_names: ['op3'] } }, where(`op_name = 'op3'`)],
  'of a rare op': [{ filter: { op_names: ['rare'] } }, where(`op_name = 'rare'`)],
  'of a user': [{ filter: { svc_user_ids: ['user1'] } }, where(`user_id = 'user1'`)],
  'of a rare user': [{ filter: { svc_user_ids: ['rarely'] } }, where(`user_id = 'rarely'`)],
  'of a trace': [
    { filter: { trace_ids: [one(size / 2)] } },
    where(`trace_id = '${one(size / 2)}'`),
  ],
  'of a thread': [
    { filter: { thread_ids: [`thread-${Math.floor(size / 200)}`] } },
    where(`thread_id = 'thread-${Math.floor(size / 200)}'`),
  ],
  'of a turn': [{ filter: { turn_ids: [one(size / 2)] } }, where(`turn_id = '${one(size / 2)}'`)],
  'of an hour': [
    {
      query: {
        $expr: {
          $and: [
            { $gte: [{ $getField: 'started_at' }, { $literal: '2026-01-10T00:00:00Z' }] },
            { $lt: [{ $getField: 'started_at' }, { $literal: '2026-01-10T01:00:00Z' }] },
          ],
        },
      },
    },
    where(`started_at >= '2026-01-10T00:00:00Z' AND started_at < '2026-01-10T01:00:00Z'`),
  ],
  'slowest roots': [
    {
      filter: { trace_roots_only: true },
      sort_by: [{ field: 'summary.svc.latency_ms', direction: 'desc' }],
    },
    where('parent_id IS NULL', 'ended_at - started_at DESC NULLS LAST, id'),
  ],
  'slowest of all (reads all)': [
    { sort_by: [{ field: 'summary.svc.latency_ms', direction: 'desc' }] },
    where('TRUE', 'ended_at - started_at DESC NULLS LAST, id'),
  ],
  'of many tokens': [isAbove('total_tokens', 500), null],
  'of some cost': [isAbove('total_cost', 0.001), null],
  'of more tokens than any (reads all)': [isAbove('total_tokens', 1e9), null],
  'of more cost than any (reads all)': [isAbove('total_cost', 1e9), null],
  ...RELATED,
});
const count = (more) => () => post('/calls/query_stats', { project_id: PROJECT, ...more });
const COUNTS = {
  'count all': [
    count({}),
    `SELECT count(*) FROM calls WHERE project_id = '${PROJECT}' AND op_name IS NOT NULL AND deleted_at IS NULL`,
  ],
  'count errors': [
    count(hasStatus('error')),
    `SELECT count(*) FROM calls WHERE project_id = '${PROJECT}' AND op_name IS NOT NULL AND deleted_at IS NULL AND ${STATUS} = 'error'`,
  ],
  'projects: 1001, with counts': [() => post('/projects/query', {}), null],
  'threads, the latest': [
    () => post('/threads/stream_query', { project_id: PROJECT, limit: 50 }),
    `SELECT thread_id, count(*), max(coalesce(ended_at, started_at)) FROM calls WHERE project_id = '${PROJECT}'
     AND id = turn_id AND thread_id <> '' GROUP BY 1 ORDER BY 3 DESC LIMIT 50`,
  ],
};

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
  while ((await client.query('SELECT FROM calls WHERE has_unread_usage LIMIT 1')).rowCount > 0)
    await new Promise((resolve) => setTimeout(resolve, 200));
  while ((await client.query('SELECT FROM call_slot_marks LIMIT 1')).rowCount > 0)
    await new Promise((resolve) => setTimeout(resolve, 200));
  return (performance.now() - started) / 1000;
}

/** The refresher skips the project while this connection has its lock. */
const HOLD = [0x736c6f74, PROJECT];

/** Medians of pages and counts. The naive queries run once, on analysed tables. */
async function asked(size, isAnalysed) {
  const all = {
    ...Object.fromEntries(
      Object.entries(lists(size)).map(([name, [body, sql]]) => [name, [page(body), sql]]),
    ),
    ...COUNTS,
  };
  const found = {};
  for (const [name, [run, sql]] of Object.entries(all)) {
    const first = await msOrRefusal(run, 1);
    const over_http = typeof first === 'string' ? first : await msOrRefusal(run);
    found[name] = [
      over_http,
      isAnalysed && sql && !options.small ? ms(await timed(naive(sql), 2)) : '',
    ];
  }
  return found;
}

async function questions() {
  await client.query('ALTER TABLE calls SET (autovacuum_enabled = off)');
  await post('/cost/create', {
    project_id: PROJECT,
    costs: {
      mine: { prompt_token_cost: 0.25, completion_token_cost: 1, effective_date: '2020-01-01' },
    },
  });
  let filled = 0;
  for (const size of SIZES) {
    await client.query('DELETE FROM calls');
    await client.query('VACUUM calls');
    await refreshed();
    for (let n = 0; n < 1000; n++) await fill(0, 10, 10, `small/p${n}`);
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', HOLD);
    await fill(0, size, size);
    filled = size;
    await client.query(`DELETE FROM pg_statistic WHERE starelid = 'calls'::regclass`); // makes the table look never analysed
    const fresh = await asked(size, false);
    const rows = {};
    const behind = await msOrRefusal(ask(QUESTIONS[2][1]), 1);
    await client.query('SELECT pg_advisory_unlock_all()');
    const caughtUp_s = await refreshed();
    await client.query('ANALYZE calls');
    const analysed = await asked(size, true);
    for (const [name, [over_http, naive_ms]] of Object.entries(analysed))
      rows[name] = {
        'ms right after the load': fresh[name][0],
        'ms over HTTP': over_http,
        'naive ms': naive_ms,
      };
    for (const [name, body, sql] of QUESTIONS)
      rows[name] = {
        'ms over HTTP': await msOrRefusal(ask(body), sql ? READS : 3),
        'naive ms': sql && !options.small ? ms(await timed(naive(sql), 2)) : '',
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
      `${filled} calls; every slot marked, ms: ${behind}; until refreshed: ${ms(caughtUp_s)} s`,
    );
    console.table(rows);
    const { rows: sizes } = await client.query(
      `SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) AS size FROM pg_class WHERE relname IN ('calls', 'call_slots', 'call_slot_models') ORDER BY 1`,
    );
    console.log(sizes.map(({ relname, size }) => `${relname} ${size}`).join(', '));
  }
}

try {
  await questions();
} finally {
  await close();
}

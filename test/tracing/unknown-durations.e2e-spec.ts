import { agentSpan, aTurn, exportOf } from '../support/agents.js';
import { linesOf, useApp } from '../support/app.js';
import { at } from '../support/factories.js';
import { refreshed } from '../support/refreshed.js';

/** Tests calls that end before they start, because the clocks of their clients differ. */
const app = useApp();
const project_id = 'acme/clocks';

const ask = async (path: string, body: object) => {
  const answer = await app.post(path, { project_id, ...body });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer;
};

/** Stores turns of one thread: of 1 s and of 3 s, one that ends 100 s before its start, and a running one. */
beforeAll(async () => {
  const calls = [
    ['one', 100, 101],
    ['three', 200, 203],
    ['skewed', 300, 200],
    ['running', 290, null],
  ] as const;
  const batch = calls.flatMap(([id, started, ended]) => [
    {
      mode: 'start',
      req: {
        start: {
          project_id,
          id,
          trace_id: id,
          thread_id: 'talk',
          turn_id: id,
          op_name: 'op',
          started_at: at(started),
          inputs: {},
          attributes: {},
        },
      },
    },
    ...(ended === null
      ? []
      : [{ mode: 'end', req: { end: { project_id, id, ended_at: at(ended) } } }]),
  ]);
  expect((await app.post('/call/upsert_batch', { batch })).status).toBe(200);
});

it('have no latency, and sort last', async () => {
  const latencies = async (body: object) =>
    linesOf(await ask('/calls/stream_query', body)).map(({ id, summary }) => [
      id,
      summary.svc.latency_ms,
    ]);
  const by = (direction: string) => ({
    sort_by: [{ field: 'summary.svc.latency_ms', direction }],
  });
  const last = [
    ['running', null],
    ['skewed', null],
  ];
  for (const filter of [{}, { trace_roots_only: true }]) {
    expect(await latencies({ filter, ...by('desc') })).toEqual([
      ['three', 3000],
      ['one', 1000],
      ...last,
    ]);
    expect(await latencies({ filter, ...by('asc') })).toEqual([
      ['one', 1000],
      ['three', 3000],
      ...last,
    ]);
    const pages = [];
    for (let after: unknown[] | undefined; ;) {
      const [row] = await latencies({ filter, ...by('desc'), limit: 1, after });
      if (!row) break;
      pages.push(row[0]);
      after = [row[1], row[0]];
    }
    expect(pages).toEqual(['three', 'one', 'running', 'skewed']);
  }
  const { body } = await ask('/call/read', { id: 'skewed' });
  expect(body.call.summary.svc).toMatchObject({ latency_ms: null, status: 'success' });
  const is = (operator: string, value: unknown) => ({
    query: {
      $expr: {
        [operator]: [{ $getField: 'summary.svc.latency_ms' }, { $literal: value }],
      },
    },
  });
  expect(await latencies(is('$lt', 2000))).toEqual([['one', 1000]]);
  expect(await latencies(is('$eq', null))).toEqual([
    ['running', null],
    ['skewed', null],
  ]);
});

it.each(['before the statistics are stored', 'when they are'])(
  'do not count in statistics of calls and threads, %s',
  async (when) => {
    if (when === 'when they are') await refreshed(app, 'slots', 'threads');
    const metric = {
      metric: 'latency_ms',
      aggregations: ['sum', 'avg', 'min', 'max', 'count'],
      percentiles: [0, 50, 100],
    };
    const window = { start: at(0), end: at(3600), granularity: 3600 };
    const expected = {
      count: 4,
      sum_latency_ms: 4000,
      avg_latency_ms: 2000,
      min_latency_ms: 1000,
      max_latency_ms: 3000,
      count_latency_ms: 2,
      p0_latency_ms: 1000,
      p50_latency_ms: 2000,
      p100_latency_ms: 3000,
    };
    const stats = await ask('/calls/stats', { ...window, call_metrics: [metric] });
    expect(stats.body.call_buckets[0]).toMatchObject(expected);
    const grouped = await ask('/calls/stats', {
      ...window,
      call_metrics: [metric],
      group_by: ['op_name'],
    });
    expect(grouped.body.call_buckets[0]).toMatchObject(expected);
    const [thread] = linesOf(await ask('/threads/stream_query', {}));
    expect(thread).toMatchObject({
      turn_count: 4,
      p50_turn_duration_ms: 2000,
      p99_turn_duration_ms: 2980,
    });
  },
);

it('do not count for agents', async () => {
  const spans = aTurn({ trace: 1, id: 1, conversation: 'skewed' });
  const skewed = exportOf(spans.map(agentSpan));
  for (const { scopeSpans } of skewed.resourceSpans)
    for (const { spans: all } of scopeSpans)
      for (const span of all as any[])
        span.endTimeUnixNano = String(BigInt(span.startTimeUnixNano) - 5_000_000_000n);
  const headers = { project_id };
  expect((await app.post('/agents/otel/v1/traces', skewed, { headers })).text).toBe('{}');
  const { body: agents } = await ask('/agents/query', {});
  expect(agents.agents[0].total_duration_ms).toBe(0);
  const { body } = await ask('/agents/spans/query', {});
  expect(new Set(body.spans.map(({ duration_ms }: any) => duration_ms))).toEqual(new Set([null]));
});

import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { useApp } from '../support/app.js';
import { type StatsRequest, statsOf } from '../support/call-stats-oracle.js';
import { refreshed } from '../support/refreshed.js';
import { until } from '../support/until.js';

const app = useApp();

let projects = 0;
const aProject = () => `acme/s${projects++}`;
const refresh = () => refreshed(app, 'slots');

/** Times near the clock changes of Berlin and New York, and near midnight UTC of a day when the prices of o3 change. */
const BASES = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', '2025-06-10T00:00:00Z'].map(
  Date.parse,
);
const instantIn = (base: number) =>
  fc
    .record({
      s: fc.constantFrom(-86_400, -3600, -301, -300, -1, 0, 1, 299, 300, 301, 3600, 7200, 90_000),
      micros: fc.constantFrom('000', '001', '999'),
    })
    .map(({ s, micros }) => new Date(base + s * 1000).toISOString().replace('Z', `${micros}Z`));

const count = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('1', '7', '100', '130000', '300000') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '0',
      '1e2',
      '2.0',
      '1.5',
      '-3',
      '"9"',
      'null',
      '{}',
      '1e400',
      '9007199254740993',
      '1e-400',
      'true',
    ),
  },
);
const NESTED = [
  ['prompt_tokens_details', 'cached_tokens'],
  ['prompt_tokens_details', 'cache_write_tokens'],
  ['input_tokens_details', 'cached_tokens'],
  ['input_tokens_details', 'cache_write_tokens'],
  ['billed_units', 'input_tokens'],
  ['billed_units', 'output_tokens'],
] as const;
const entry = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .dictionary(
        fc.constantFrom(
          'prompt_tokens',
          'input_tokens',
          'prompt_token_count',
          'completion_tokens',
          'output_tokens',
          'total_tokens',
          'candidates_token_count',
          'cache_read_input_tokens',
          'cached_content_token_count',
          'cache_creation_input_tokens',
          'inputTokens',
          'outputTokens',
          'cacheReadInputTokens',
          'cacheWriteInputTokens',
          'thoughts_token_count',
          'thoughts_tokens',
          'total_token_count',
          'requests',
        ),
        count,
        { maxKeys: 5 },
      )
      .chain((names) =>
        fc.option(fc.tuple(fc.constantFrom(...NESTED), count), { freq: 3 }).map((nested) => {
          const members = Object.entries(names).map(([name, value]) => `"${name}":${value}`);
          if (nested) {
            const [[name, member], value] = nested;
            members.push(`"${name}":{"${member}":${value}}`);
          }
          return `{${members.join(',')}}`;
        }),
      ),
  },
  {
    weight: 1, // the sum of chat completions and responses
    arbitrary: fc
      .tuple(count, count, fc.constantFrom(0, 1))
      .map(
        ([chat, cached, more]) =>
          `{"prompt_tokens":${chat},"input_tokens":7,"completion_tokens":1,"output_tokens":2,"total_tokens":${JSON.stringify((Number(chat) || 0) + 10 + more)},"input_tokens_details":{"cached_tokens":${cached}},"prompt_tokens_details":{"cached_tokens":1}}`,
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('null', '[]', '7', '{"prompt_tokens":5,"prompt_tokens":6}'),
  },
);
const MODELS = [
  'mine',
  'other',
  'o3',
  'gemini-2.5-pro',
  'deepseek-chat',
  'nobody',
  String.raw`a\u0000b`,
];
const usage = fc
  .array(fc.tuple(fc.constantFrom(...MODELS), entry), { maxLength: 3 })
  .map((entries) => `{${entries.map(([model, value]) => `"${model}":${value}`).join(',')}}`);

const callId = fc.constantFrom(...Array.from({ length: 10 }, (_, i) => `c${i}`));
const stepIn = (base: number) =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .record({
          id: callId,
          at: instantIn(base),
          op: fc.constantFrom('a', 'b'),
          version: fc.constantFrom('0.53.1', '0.53.2', '1.0.0', 'x'),
        })
        .map(({ id, at, op, version }) => ({
          path: '/call/start',
          body: (project: string) =>
            `{"start":{"project_id":"${project}","id":"${id}","op_name":"${op}","started_at":"${at}","attributes":{"weave":{"source":"python-sdk","client_version":"${version}"}}}}`,
        })),
    },
    {
      weight: 6,
      arbitrary: fc
        .record({ id: callId, at: instantIn(base), usage, isError: fc.boolean() })
        .map(({ id, at, usage, isError }) => ({
          path: '/call/end',
          body: (project: string) =>
            `{"end":{"project_id":"${project}","id":"${id}","ended_at":"${at}","summary":{"usage":${usage}}${isError ? ',"exception":"no"' : ''}}}`,
        })),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({
          model: fc.constantFrom('mine', 'other', 'o3'),
          at: instantIn(base),
          price: fc.constantFrom('0.5', '0.25', '1.25e-3'),
          cached: fc.constantFrom('', ',"cache_read_input_token_cost":0.125'),
        })
        .map(({ model, at, price, cached }) => ({
          path: '/cost/create',
          body: (project: string) =>
            `{"project_id":"${project}","costs":{"${model}":{"prompt_token_cost":${price},"completion_token_cost":2,"effective_date":"${at}"${cached}}}}`,
        })),
    },
    {
      weight: 1,
      arbitrary: callId.map((id) => ({
        path: '/calls/delete',
        body: (project_id: string) => JSON.stringify({ project_id, call_ids: [id] }),
      })),
    },
    {
      weight: 1,
      arbitrary: callId.map((id) => ({
        path: '/calls/purge',
        body: (project_id: string) => JSON.stringify({ project_id, call_ids: [id] }),
      })),
    },
    { weight: 3, arbitrary: fc.constant({ path: 'refresh', body: () => '' }) },
  );

const METRICS = {
  call: ['call_count', 'error_count', 'latency_ms'],
  usage: [
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
    'input_cost',
    'output_cost',
    'total_cost',
  ],
};
const AGGREGATIONS = ['sum', 'avg', 'min', 'max', 'count', 'count_true', 'count_false'];
const metricsOf = (names: string[], aggregations: string[], hasPercentiles: boolean) =>
  names.map((metric) => ({
    metric,
    aggregations,
    percentiles: hasPercentiles ? [0, 37.5, 95, 100] : [],
  }));
const requestIn = (base: number) =>
  fc.record({
    window: fc.uniqueArray(instantIn(base), {
      minLength: 2,
      maxLength: 2,
      selector: (at) => at.slice(0, 23),
    }),
    granularity: fc.constantFrom(300, 420, 900, 3600, 7200, 86_400, 172_800),
    timezone: fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
    ),
    group_by: fc.option(fc.subarray(['op_name', 'svc_user_id', 'status'], { minLength: 1 }), {
      freq: 2,
    }),
    isFiltered: fc.boolean(),
    isPlain: fc.boolean(),
  });

async function expectExact(project_id: string, asked: any) {
  const [start, end] = asked.window.toSorted();
  const request = {
    start,
    end,
    granularity: asked.granularity,
    timezone: asked.timezone,
    call_metrics: metricsOf(METRICS.call, AGGREGATIONS, true),
    usage_metrics: metricsOf(METRICS.usage, asked.isPlain ? ['sum'] : AGGREGATIONS, !asked.isPlain),
    ...(asked.group_by && { group_by: asked.group_by }),
    ...(asked.isFiltered && { filter: { op_names: ['a'] } }),
  };
  const answer = await app.post('/calls/stats', { project_id, ...request });
  expect([answer.status, answer.status === 200 || answer.text]).toEqual([200, true]);
  const frame = asked.group_by
    ? (await app.post('/calls/stats', { project_id, ...request, group_by: null })).body
    : answer.body;
  const starts = frame.call_buckets.map(({ timestamp }: any) => timestamp);
  const { calls } = (
    await app.post('/calls/query', {
      project_id,
      include_costs: true,
      ...(asked.isFiltered && { filter: request.filter }),
    })
  ).body;
  const expected = statsOf(calls, starts, request as StatsRequest);
  expectSame(answer.body.call_buckets, expected.callBuckets);
  for (const bucket of answer.body.usage_buckets) {
    delete bucket.unknown_calls; // these two members are not in a call's costs
    delete bucket.cost_unit;
  }
  expectSame(answer.body.usage_buckets, expected.usageBuckets);
}

const sorted = (buckets: any[]) => buckets.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));

/** Compares buckets in any order. Averages and percentiles are doubles and may differ in their last digits. */
function expectSame(answered: any[], expected: any[]) {
  const wanted = sorted(expected);
  const isDouble = (name: string, value: unknown) =>
    /^(avg|p)/.test(name) && typeof value === 'number';
  const near = (value: number, wish: unknown) =>
    typeof wish === 'number' && Math.abs(value - wish) <= 1e-10 * Math.abs(wish) ? wish : value;
  const found = sorted(answered).map((bucket, i) =>
    Object.fromEntries(
      Object.entries<any>(bucket).map(([name, value]) => [
        name,
        isDouble(name, value) ? near(value, wanted[i]?.[name]) : value,
      ]),
    ),
  );
  expect(found).toEqual(wanted);
}
const key = (bucket: any) =>
  JSON.stringify([
    bucket.timestamp,
    bucket.model,
    bucket.op_name,
    bucket.svc_user_id,
    bucket.status,
  ]);

describe('POST /calls/stats', () => {
  it('equals a look at every call, whatever arrives in whatever order', async () => {
    const run = fc.constantFrom(...BASES).chain((base) =>
      fc.record({
        steps: fc.array(stepIn(base), { minLength: 1, maxLength: 25 }),
        requests: fc.array(requestIn(base), { minLength: 3, maxLength: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(run, async ({ steps, requests }) => {
        const project = aProject();
        for (const { path, body } of steps) {
          if (path === 'refresh') await refresh();
          else {
            const answer = await app.post(path, body(project));
            expect([answer.status, answer.status === 200 || answer.text]).toEqual([200, true]);
          }
        }
        for (const request of requests) await expectExact(project, request);
        await refresh();
        for (const request of requests) await expectExact(project, request);
      }),
      { numRuns: 15, interruptAfterTimeLimit: 90_000 }, // a failure is then reported before the test's time limit
    );
  });

  const WINDOW = { start: '2026-02-01T00:00:00Z', end: '2026-02-01T02:00:00Z', granularity: 3600 };
  const post = async (project_id: string, body: object) =>
    (await app.post('/calls/stats', { project_id, ...WINDOW, ...body })).body;
  async function aCall(project_id: string, id: string, started_at: string, usage?: object) {
    const start = { project_id, id, op_name: 'op', started_at };
    await app.post('/call/start', { start });
    const ended_at = started_at.replace(':00Z', ':01.5Z');
    await app.post('/call/end', { end: { project_id, id, ended_at, summary: { usage } } });
  }

  it('answers in the shape of the published clients', async () => {
    const project_id = aProject();
    const usage = {
      mine: { prompt_tokens: 3, completion_tokens: 1 },
      nobody: { prompt_tokens: 5 },
    };
    await aCall(project_id, 'a', '2026-02-01T01:30:00Z', usage);
    const price = {
      prompt_token_cost: 0.1,
      completion_token_cost: 2,
      effective_date: '2026-01-01',
    };
    await app.post('/cost/create', { project_id, costs: { mine: price } });
    const answer = await post(project_id, {
      call_metrics: [{ metric: 'latency_ms', aggregations: ['avg'], percentiles: [50, 99.9] }],
      usage_metrics: [{ metric: 'total_cost' }, { metric: 'total_tokens' }],
    });
    expect(answer).toEqual({
      start: '2026-02-01T00:00:00.000000Z',
      end: '2026-02-01T02:00:00.000000Z',
      granularity: 3600,
      timezone: 'UTC',
      call_buckets: [
        {
          timestamp: '2026-02-01T00:00:00.000000Z',
          count: 0,
          avg_latency_ms: null,
          p50_latency_ms: null,
          'p99.9_latency_ms': null,
        },
        {
          timestamp: '2026-02-01T01:00:00.000000Z',
          count: 1,
          avg_latency_ms: 1500,
          p50_latency_ms: 1500,
          'p99.9_latency_ms': 1500,
        },
      ],
      usage_buckets: [
        {
          timestamp: '2026-02-01T01:00:00.000000Z',
          model: 'mine',
          count: 1,
          sum_total_cost: 2.3,
          sum_total_tokens: 4,
          unpriced_tokens: 0,
          unknown_calls: 0,
          cost_unit: 'USD',
        },
        {
          timestamp: '2026-02-01T01:00:00.000000Z',
          model: 'nobody',
          count: 1,
          sum_total_cost: null,
          sum_total_tokens: 5,
          unpriced_tokens: 5,
          unknown_calls: 0,
          cost_unit: null,
        },
      ],
    });
  });

  it('answers every digit of a cost, and adds no two units', async () => {
    const project_id = aProject();
    await aCall(project_id, 'a', '2026-02-01T00:30:00Z', { mine: { prompt_tokens: 3 } });
    const price = (unit: string) =>
      `{"prompt_token_cost":0.1234567890123456789,"completion_token_cost":1,"effective_date":"2026-01-01","prompt_token_cost_unit":"${unit}"}`;
    await app.post(
      '/cost/create',
      `{"project_id":"${project_id}","costs":{"mine":${price('EUR')}}}`,
    );
    const body = {
      project_id,
      ...WINDOW,
      usage_metrics: [{ metric: 'input_cost' }, { metric: 'total_cost' }],
    };
    const { text } = await app.post('/calls/stats', body);
    expect(text).toContain('"sum_input_cost":0.3703703670370370367,"sum_total_cost":null');
  });

  it('stores what a refresh has read, and forgets it with the calls', async () => {
    const project_id = aProject();
    await aCall(project_id, 'a', '2026-02-01T00:30:00Z', { m: { prompt_tokens: 3 } });
    await refresh();
    const stored = () =>
      app.query(
        `SELECT slot FROM call_slots WHERE project_id = $1 UNION ALL SELECT slot FROM call_slot_models WHERE project_id = $1
         UNION ALL SELECT slot FROM call_slot_marks WHERE project_id = $1`,
        [project_id],
      );
    expect(await stored()).toHaveLength(2);
    await app.post('/calls/purge', { project_id, call_ids: ['a'] });
    await refresh();
    expect(await stored()).toEqual([]);
  });

  it('counts a call that moves to another slot once', async () => {
    const project_id = aProject();
    await aCall(project_id, 'a', '2026-02-01T00:30:00Z');
    await refresh();
    const start = { project_id, id: 'a', op_name: 'op', started_at: '2026-02-01T01:30:00Z' };
    await app.post('/call/start', { start });
    const body = { call_metrics: [{ metric: 'call_count' }] };
    const moved = [{ sum_call_count: 0 }, { sum_call_count: 1 }];
    expect((await post(project_id, body)).call_buckets).toMatchObject(moved);
    await refresh();
    expect((await post(project_id, body)).call_buckets).toMatchObject(moved);
  });

  it('prices calls of a stored slot apart, in the middle of which a late record begins', async () => {
    const project_id = aProject();
    await aCall(project_id, 'a', '2026-02-01T00:31:00Z', { mine: { prompt_tokens: 1 } });
    await aCall(project_id, 'b', '2026-02-01T00:33:00Z', { mine: { prompt_tokens: 1 } });
    await refresh();
    for (const [prompt_token_cost, effective_date] of [
      [1, '2026-01-01'],
      [10, '2026-02-01T00:32:00Z'],
    ])
      await app.post('/cost/create', {
        project_id,
        costs: { mine: { prompt_token_cost, completion_token_cost: 0, effective_date } },
      });
    const { usage_buckets } = await post(project_id, { usage_metrics: [{ metric: 'input_cost' }] });
    expect(usage_buckets).toMatchObject([{ sum_input_cost: 11 }]);
  });

  it('leaves a slot that is not over to its readers, with one mark of all', async () => {
    const project_id = aProject();
    const now = new Date();
    for (const id of ['a', 'b', 'c'])
      await app.post('/call/start', {
        start: { project_id, id, op_name: 'op', started_at: now.toISOString() },
      });
    const marks = `SELECT FROM call_slot_marks WHERE project_id = $1`;
    await until(async () => {
      await refresh();
      return (await app.query(marks, [project_id])).length === 1;
    });
    const answer = await post(project_id, {
      start: new Date(now.getTime() - 60_000).toISOString(),
      end: new Date(now.getTime() + 60_000).toISOString(),
      call_metrics: [{ metric: 'call_count' }],
    });
    const counts = answer.call_buckets.map((bucket: any) => bucket.sum_call_count);
    expect(counts).toContain(3);
  });

  it('answers from the first day that there is, though its week and its bucket begin in the year 0', async () => {
    const project_id = aProject();
    await app.post('/call/start', {
      start: { project_id, id: 'a', op_name: 'op', started_at: '0001-01-01T00:00:00Z' },
    });
    const window = { start: '0001-01-01T00:00:00Z', end: '0001-02-01T00:00:00Z' };
    const answer = await post(project_id, {
      ...window,
      granularity: 86_400,
      timezone: 'America/New_York',
      call_metrics: [{ metric: 'call_count' }],
    });
    expect(answer.call_buckets[0]).toMatchObject({ sum_call_count: 1 });
  });

  it('refuses an answer of too many values, though each metric has few', async () => {
    const percentiles = (n: number) => Array.from({ length: 20 }, (_, i) => n + i / 20);
    const answer = await app.post('/calls/stats', {
      project_id: aProject(),
      start: '2026-01-01T00:00:00Z',
      end: '2026-01-07T00:00:00Z',
      granularity: 60,
      call_metrics: [0, 1, 2].map((n) => ({ metric: 'error_count', percentiles: percentiles(n) })),
    });
    expect([answer.status, answer.body.code]).toEqual([413, 'too_large']);
  });

  it('refuses an answer of names that are too long together, before they are read', async () => {
    const project_id = aProject();
    await app.query(
      `INSERT INTO calls (project_id, id, trace_id, op_name, started_at)
        SELECT $1, i::text, 't', repeat('😀', 1020) || i, '2026-01-01' FROM generate_series(1, 4200) i`,
      [project_id],
    );
    const answer = await app.post('/calls/stats', {
      project_id,
      start: '2026-01-01T00:00:00Z',
      end: '2026-01-02T00:00:00Z',
      call_metrics: [{ metric: 'call_count' }],
      group_by: ['op_name'],
    });
    expect([answer.status, answer.body.code]).toEqual([413, 'too_large']);
  });

  const EVERY = ['sum', 'avg', 'min', 'max', 'count', 'count_true', 'count_false'];
  it.each([
    [
      '/calls/stats',
      {
        call_metrics: ['call_count', 'error_count', 'latency_ms'].map((metric) => ({
          metric,
          aggregations: EVERY,
        })),
      },
    ],
    [
      '/feedback/stats',
      {
        metrics: ['a', 'b', 'c']
          .map((name) => name.repeat(50))
          .map((json_path) => ({
            json_path,
            aggregations: EVERY,
          })),
      },
    ],
  ])('counts an answer of %s that is not read as memory of its key', async (path, asked) => {
    const asking = JSON.stringify({
      project_id: aProject(),
      start: '2026-01-01T00:00:00Z',
      end: '2026-01-07T22:00:00Z',
      granularity: 60,
      ...asked,
    });
    // A socket reads only the first chunk. The kernel would take the whole answer for a client that reads more of it.
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic ${btoa(`a:${app.key}`)}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${asking.length}\r\n\r\n${asking}`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    const length = Number(/content-length: (\d+)/i.exec(head.toString('latin1'))![1]);
    expect(length).toBeGreaterThan(5_000_000);
    const held = async () =>
      Number(/^skein_body_bytes (\d+)/m.exec(await (await fetch(`${app.url}/metrics`)).text())![1]);
    expect(await held()).toBeGreaterThan(length);
    socket.destroy();
    await until(async () => (await held()) === 0);
  });

  it.each([
    [{ start: 'yesterday' }, 'start'],
    [{ end: '2026-02-01T00:00:00Z' }, 'end'],
    [{ granularity: 0 }, 'granularity'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ group_by: ['inputs'] }, 'group_by[0]'],
    [{ call_metrics: [{ metric: 'total_cost' }] }, 'call_metrics[0].metric'],
    [
      { usage_metrics: [{ metric: 'total_cost', percentiles: [101] }] },
      'usage_metrics[0].percentiles[0]',
    ],
    [
      { usage_metrics: [{ metric: 'total_cost', aggregations: ['median'] }] },
      'usage_metrics[0].aggregations[0]',
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'nothing' }, { $literal: 1 }] } } },
      'query.$expr.$eq[0].$getField',
    ],
  ])('refuses %j', async (body, path) => {
    expect(
      await post(aProject(), { call_metrics: [{ metric: 'call_count' }], ...body }),
    ).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path }],
    });
  });
});

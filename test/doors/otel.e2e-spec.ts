import { gzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { basic, send, useApp } from '../support/app.js';

const app = useApp({ MAX_BODY_BYTES: '100000' });

const project_id = 'acme/demo';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
let spans = 0;
const aSpanId = () => (++spans).toString(16).padStart(16, '0');
const aSpan = (overrides: object = {}) => ({
  traceId: TRACE,
  spanId: aSpanId(),
  name: 'work',
  startTimeUnixNano: '1767225600123456789',
  endTimeUnixNano: '1767225601123456789',
  ...overrides,
});
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const request = (list: unknown[], ...attributes: object[]) => ({
  resourceSpans: [
    { resource: { attributes }, scopeSpans: [{ scope: { name: 's' }, spans: list }] },
  ],
});

const PATH = '/otel/v1/traces';
const SPANS = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const toProject = { headers: { project_id } };
const read = async (id: string, project = project_id) =>
  (await app.post('/call/read', { project_id: project, id })).body.call;

describe('POST /otel/v1/traces', () => {
  it('stores spans as calls, with the span as it was sent', async () => {
    const parent = aSpanId();
    const span = `{"traceId":"${TRACE}","spanId":"00000000000000ff","parentSpanId":"${parent}", "name":"chat",
      "startTimeUnixNano":1767225600123456789,"endTimeUnixNano":"1767225601123456789","unknown":1.0,
      "attributes":[{"key":"input.value","value":{"stringValue":"hi \\ud800\\u0000"}}]}`;
    const { status, headers, text } = await app.post(
      PATH,
      `{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`,
      toProject,
    );
    expect([status, text]).toEqual([200, '{}']);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(await read('00000000000000ff')).toMatchObject({
      trace_id: TRACE,
      parent_id: parent,
      op_name: 'chat',
      svc_user_id: 'ada',
      inputs: { input: 'hi \ufffd\0' },
      summary: { svc: { status: 'success', latency_ms: 1000 } },
    });
    const answer = await app.post('/call/read', { project_id, id: '00000000000000ff' });
    expect(answer.text).toContain(`"otel_span":${span}`);
  });

  it.each(['/v1/traces', '/agents/otel/v1/traces', '/api/public/otel/v1/traces'])(
    'has the alias %s',
    async (path) => {
      const span = aSpan();
      expect((await app.post(path, request([span]), toProject)).text).toBe('{}');
      expect(await read(span.spanId)).not.toBeNull();
    },
  );

  it('lists what agents name as a session among the threads', async () => {
    const named = [
      ['conversation.id', 'codex-1'],
      ['session.id', 'claude-1'],
      ['litellm.trace_id', 'litellm-1'],
      ['session.id', 'x'.repeat(1281)],
      ['session.id', 'a\0b'],
    ].map(([name, value]) => aSpan({ attributes: [text(name!, value!)] }));
    expect((await app.post(PATH, request(named), { headers: { project_id: 'acme/sessions' } })).text).toBe('{}'); // prettier-ignore
    const threads = await app.post('/threads/stream_query', { project_id: 'acme/sessions' });
    const ids = threads.text.trim().split('\n').map((line) => JSON.parse(line).thread_id); // prettier-ignore
    expect(ids.toSorted()).toEqual(['claude-1', 'codex-1', 'litellm-1']);
    expect((await app.post('/calls/query', { project_id: 'acme/sessions' })).body.calls).toHaveLength(5); // prettier-ignore
  });

  it('counts bad spans, says why, and stores the rest', async () => {
    const good = [aSpan(), aSpan()];
    const bad = [
      null,
      5,
      aSpan({ traceId: 'nonsense' }),
      aSpan({ name: 5 }),
      aSpan({ spanId: undefined }),
      aSpan({ startTimeUnixNano: '0' }),
    ];
    const { status, body } = await app.post(PATH, request([good[0], ...bad, good[1]]), toProject);
    expect(status).toBe(200);
    expect(body.partialSuccess).toEqual({
      rejectedSpans: '6',
      errorMessage: expect.stringMatching(/\w/),
    });
    for (const { spanId } of good) expect(await read(spanId)).not.toBeNull();
  });

  it('stores a long session, and a name with a character that no column can hold', async () => {
    const session = 'a\t'.repeat(300);
    const span = aSpan({ name: 'a\0b', attributes: [text('session.id', session)] });
    expect((await app.post(PATH, request([span]), toProject)).text).toBe('{}');
    expect(await read(span.spanId)).toMatchObject({ op_name: 'a\ufffdb', thread_id: session });
  });

  it('counts them all when all are bad', async () => {
    const { status, body } = await app.post(PATH, request([{}, {}]), toProject);
    expect(status).toBe(200);
    expect(body.partialSuccess.rejectedSpans).toBe('2');
  });

  it('takes a span again, a child before its parent, and a running span that ends later', async () => {
    const [parent, child] = [aSpan(), aSpan()];
    const running = { ...parent, endTimeUnixNano: undefined };
    await app.post(PATH, request([{ ...child, parentSpanId: parent.spanId }]), toProject);
    await app.post(PATH, request([running]), toProject);
    expect((await read(parent.spanId)).summary.svc.status).toBe('running');
    for (let i = 0; i < 2; i++) await app.post(PATH, request([parent]), toProject);
    expect((await read(parent.spanId)).summary.svc.status).toBe('success');
    expect((await read(child.spanId)).parent_id).toBe(parent.spanId);
  });

  it('stores all of many spans, and counts the bad ones among them', async () => {
    const project = 'acme/many';
    const spans = Array.from({ length: 550 }, (_, i) => aSpan(i % 100 === 0 ? { name: 5 } : {}));
    const headers = { project_id: project };
    const { body } = await app.post(PATH, request(spans), { headers });
    expect(body.partialSuccess.rejectedSpans).toBe('6');
    const stats = await app.post('/calls/query_stats', { project_id: project });
    expect(stats.body.count).toBe(544);
  });

  it('inflates its body, and stops at the limit', async () => {
    const span = aSpan();
    const headers = { project_id, 'content-encoding': 'gzip' };
    const zipped = gzipSync(JSON.stringify(request([span])));
    expect((await app.post(PATH, zipped, { headers })).status).toBe(200);
    expect(await read(span.spanId)).not.toBeNull();
    const bomb = gzipSync(Buffer.alloc(1_000_000, ' '));
    const { status, body } = await app.post(PATH, bomb, { headers });
    expect([status, body.code]).toEqual([413, 'too_large']);
  });

  it('refuses more spans than it takes, however few bytes they are', async () => {
    const field = (tag: number, bytes: Buffer) =>
      Buffer.concat([Buffer.from(varint(tag)), Buffer.from(varint(bytes.length)), bytes]);
    const varint = (n: number): number[] =>
      n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))];
    const spans = Buffer.alloc(90_000, Uint8Array.of(0x12, 0));
    const headers = {
      project_id,
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
    };
    const bomb = gzipSync(field(0x0a, field(0x12, spans)));
    expect(bomb.length).toBeLessThan(500);
    expect(await app.post(PATH, bomb, { headers })).toMatchObject({
      status: 413,
      body: { code: 'too_large', detail: expect.stringContaining('10000') },
    });
  });

  it.each<[string, string, string, string]>([
    ['JSON that is none', 'application/json', '{', '400 invalid_json'],
    ['an empty body', 'application/json', '', '400 invalid_json'],
    ['a list', 'application/json', '[]', '400 invalid_request'],
    [
      'a request of another shape',
      'application/json',
      '{"resourceSpans":5}',
      '400 invalid_request',
    ],
    [
      'protobuf that is none',
      'application/x-protobuf',
      '{"resourceSpans":[]}',
      '400 invalid_request',
    ],
    ['another media type', 'text/plain', '{}', '415 unsupported_media_type'],
  ])('refuses %s', async (_, type, body, expected) => {
    const answer = await app.post(PATH, body, { headers: { project_id, 'content-type': type } });
    expect(`${answer.status} ${answer.body.code}`).toBe(expected);
  });

  it('needs a key that may write', async () => {
    const body = request([aSpan()]);
    expect((await send(app.url + PATH, body, {})).status).toBe(401);
    const reader = await app.aKey('reader');
    expect((await app.post(PATH, body, { key: reader, ...toProject })).status).toBe(403);
  });
});

describe('a span that is exported again', () => {
  const project = 'acme/again';
  const send = (...list: object[]) => app.post(PATH, request(list), { headers: { project_id: project } }); // prettier-ignore
  const value = (said: string) => [text('input.value', said), text('output.value', said)];
  const nanos = (second: number) => `${1767225600 + second}000000000`;
  const states = (spanId: string) => {
    const state = (said: string, second: number | null) =>
      aSpan({ spanId, attributes: value(said), endTimeUnixNano: second === null ? undefined : nanos(second) }); // prettier-ignore
    return { running: state('running', null), ended: state('ended', 1), last: state('last', 2) };
  };
  type State = keyof ReturnType<typeof states>;

  it.each<[State[], State]>([
    [['running', 'ended'], 'ended'],
    [['ended', 'running'], 'ended'],
    [['last', 'ended'], 'last'],
    [['ended', 'last', 'ended', 'running'], 'last'],
    [['running', 'last', 'running', 'ended'], 'last'],
  ])('in the order %j is the %s one, in requests of their own and in one', async (order, said) => {
    for (const isOne of [true, false]) {
      const spanId = aSpanId();
      const list = order.map((name) => states(spanId)[name]);
      if (isOne) await send(...list);
      else for (const span of list) await send(span);
      const call = await read(spanId, project);
      expect(call).toMatchObject({ inputs: { input: said }, output: said });
      expect(call.attributes.otel_span).toMatchObject({ attributes: value(said) });
    }
  });

  it('is the newest one when all come at once', async () => {
    const ids = Array.from({ length: 30 }, aSpanId);
    await Promise.all(
      ids.flatMap((id, i) => {
        const { running, ended, last } = states(id);
        const list = [running, last, ended, running];
        return (i % 2 ? list : list.toReversed()).map((span) => send(span));
      }),
    );
    for (const id of ids)
      expect(await read(id, project)).toMatchObject({ inputs: { input: 'last' }, output: 'last' });
  });

  it('is the later one of two that ended at one time', async () => {
    const spanId = aSpanId();
    await send(aSpan({ spanId, attributes: value('first') }));
    await send(aSpan({ spanId, attributes: value('second') }));
    expect(await read(spanId, project)).toMatchObject({ output: 'second' });
  });

  it('keeps the name that somebody has given its call', async () => {
    const span = aSpan({ attributes: [text('logfire.msg', 'of the span')] });
    await send(span);
    await app.post('/call/update', { project_id: project, call_id: span.spanId, display_name: 'x' }); // prettier-ignore
    await send(span);
    expect((await read(span.spanId, project)).display_name).toBe('x');
  });

  it.each([false, true])('is the span that Logfire announced (late: %s)', async (isLate) => {
    const [parentSpanId, spanId] = [aSpanId(), aSpanId()];
    const type = (name: string) => text('logfire.span_type', name);
    const real = aSpan({ spanId, parentSpanId, attributes: [type('span'), ...value('whole')] });
    const pending = aSpan({
      parentSpanId: spanId,
      endTimeUnixNano: '1767225600123456789',
      attributes: [type('pending_span'), text('logfire.pending_parent_id', parentSpanId), text('input.value', 'half')], // prettier-ignore
    });
    const rootId = aSpanId();
    const root = aSpan({ parentSpanId: rootId, endTimeUnixNano: '1767225600123456789', attributes: [type('pending_span'), text('logfire.pending_parent_id', '0'.repeat(16))] }); // prettier-ignore
    await send(root);
    expect(await read(rootId, project)).toMatchObject({ parent_id: null, ended_at: null }); // prettier-ignore
    if (!isLate) {
      await send(pending);
      expect(await read(spanId, project)).toMatchObject({
        parent_id: parentSpanId,
        inputs: { input: 'half' },
        ended_at: null,
        summary: { svc: { status: 'running' } },
      });
    }
    await send(real);
    if (isLate) await send(pending);
    expect(await read(pending.spanId, project)).toBeNull();
    expect(await read(spanId, project)).toMatchObject({
      parent_id: parentSpanId,
      inputs: { input: 'whole' },
      output: 'whole',
      summary: { svc: { status: 'success', latency_ms: 1000 } },
    });
  });
});

describe('the project of a span', () => {
  const other = 'acme/other';

  it('is what the header names, whatever the resource says', async () => {
    const span = aSpan();
    await app.post(PATH, request([span], text('project_id', other)), toProject);
    expect(await read(span.spanId)).not.toBeNull();
  });

  it.each([
    ['project_id', [text('project_id', other)]],
    [
      'wandb.entity and wandb.project',
      [text('wandb.entity', 'acme'), text('wandb.project', 'other')],
    ],
  ])('is what %s of the resource name', async (_, attributes) => {
    const span = aSpan();
    await app.post(PATH, request([span], ...attributes));
    expect(await read(span.spanId, other)).not.toBeNull();
  });

  it('is the only one that the key reaches', async () => {
    const key = await app.aKey('writer', [other]);
    const span = aSpan();
    expect((await app.post(PATH, request([span]), { key })).text).toBe('{}');
    expect(await read(span.spanId, other)).not.toBeNull();
  });

  it.each([['*'], ['acme/*']])('must be named to a key for %s', async (scope) => {
    const key = await app.aKey('writer', [scope]);
    const { status, body } = await app.post(PATH, request([aSpan()]), { key });
    expect([status, body.errors[0].path]).toEqual([400, 'project_id']);
  });

  it('is the project of Phoenix in the only entity that the key reaches', async () => {
    const key = await app.aKey('writer', ['acme/*']);
    const span = aSpan();
    await app.post(PATH, request([span], text('openinference.project.name', 'other')), { key });
    expect(await read(span.spanId, other)).not.toBeNull();
  });

  it('is the public key of Langfuse, if that is one', async () => {
    const path = `${app.url}/api/public/otel/v1/traces`;
    const span = aSpan();
    await send(path, request([span]), { authorization: basic(app.key, other) });
    expect(await read(span.spanId, other)).not.toBeNull();
    const answer = await send(path, request([span]), { authorization: basic(app.key, 'pk-lf-1') });
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'project_id']);
  });

  it('must be one that the key reaches', async () => {
    const key = await app.aKey('writer', ['acme/other']);
    const answers = [
      await app.post(PATH, request([aSpan()]), { key, ...toProject }),
      await app.post(PATH, request([aSpan()], text('project_id', project_id)), { key }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    expect(
      (await app.post(PATH, request([aSpan()]), { headers: { project_id: 'x' } })).status,
    ).toBe(400);
  });

  it('may differ by resource: who names none does not stop the others', async () => {
    const [mine, lost] = [aSpan(), aSpan()];
    const body = {
      resourceSpans: [
        ...request([mine], text('project_id', other)).resourceSpans,
        ...request([lost]).resourceSpans,
      ],
    };
    const answer = await app.post(PATH, body);
    expect([answer.status, answer.body.partialSuccess.rejectedSpans]).toEqual([200, '1']);
    expect(await read(mine.spanId, other)).not.toBeNull();
  });
});

it('authenticates by Basic, as exporters send it', async () => {
  const headers = { authorization: basic(app.key, 'api'), project_id };
  expect((await send(`${app.url}/v1/traces`, request([]), headers)).text).toBe('{}');
});

describe('a parent of zeros', () => {
  it.each(['', '0000000000000000', '00', '0'.repeat(32)])('is no parent: %j', async (zeros) => {
    const span = aSpan({ parentSpanId: zeros });
    expect((await app.post(PATH, request([span]), toProject)).text).toBe('{}');
    expect(await read(span.spanId)).toMatchObject({ parent_id: null });
  });
});

describe('the turn of a thread that only a child names', () => {
  const trace = (first: string) => first.padEnd(32, '0');
  const thread = { attributes: [text('session.id', 'talk')] };
  const turnOf = async (id: string) => {
    const { thread_id, turn_id } = await read(id);
    return { thread_id, turn_id };
  };

  it.each([
    ['together', [['child', 'root']]],
    ['after the child', [['child'], ['root']]],
    ['before the child', [['root'], ['child']]],
  ])('is the root of the trace, when it comes %s', async (_, requests) => {
    const traceId = trace(aSpanId().slice(-4));
    const root = aSpan({ traceId });
    const child = aSpan({ traceId, parentSpanId: root.spanId, ...thread });
    for (const names of requests)
      await app.post(
        PATH,
        request(names.map((name) => (name === 'root' ? root : child))),
        toProject,
      );
    expect(await turnOf(root.spanId)).toEqual({ thread_id: 'talk', turn_id: root.spanId });
    expect(await turnOf(child.spanId)).toEqual({ thread_id: 'talk', turn_id: null });
  });

  it('is left alone where the root names a thread, and by other traces', async () => {
    const traceId = trace(aSpanId().slice(-4));
    const root = aSpan({ traceId, attributes: [text('session.id', 'own')] });
    const other = aSpan({ traceId: trace(`f${aSpanId().slice(-4)}`) });
    const child = aSpan({ traceId, parentSpanId: root.spanId, ...thread });
    await app.post(PATH, request([root, other, child]), toProject);
    expect((await turnOf(root.spanId)).thread_id).toBe('own');
    expect((await turnOf(other.spanId)).thread_id).toBeNull();
  });
});

it('prices an embedding by the provider that its span names', async () => {
  const span = aSpan({
    attributes: [
      text('gen_ai.request.model', 'text-embedding-3-small'),
      text('gen_ai.system', 'openai'),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '1000000' } },
    ],
  });
  await app.post(PATH, request([span]), toProject);
  const body = { project_id, id: span.spanId, include_costs: true };
  const { costs } = (await app.post('/call/read', body)).body.call.summary.svc;
  expect(costs['openai/text-embedding-3-small'].prompt_tokens_total_cost).toBe(0.02);
});

describe('metrics and logs', () => {
  it.each(['/otel/v1/metrics', '/otel/v1/logs', '/v1/metrics', '/v1/logs'])(
    'are taken on %s and counted',
    async (path) => {
      const count = async () => {
        const page = await (await fetch(`${app.url}/metrics`)).text();
        const pattern = `request_duration_seconds_count\\{[^}]*route="${path}",status="200"\\} (\\d+)`;
        return Number(new RegExp(pattern).exec(page)?.[1] ?? 0);
      };
      const before = await count();
      expect(await app.post(path, { resourceLogs: [] })).toMatchObject({ status: 200, text: '{}' });
      const headers = { 'content-type': 'application/x-protobuf' };
      const answer = await app.post(path, Buffer.from([1, 2]), { headers });
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect(await count()).toBe(before + 2);
      expect((await send(app.url + path, {}, {})).status).toBe(401);
    },
  );

  // opentelemetry-proto v1.11.0: metrics/v1, logs/v1, collector/metrics/v1, collector/logs/v1
  const { root } = protobuf.parse(`syntax = "proto3";
    message Request { repeated ResourceMetrics resource_metrics = 1; }
    message ResourceMetrics { Attributes resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
    message Attributes { repeated Point attributes = 1; }
    message ScopeMetrics { Attributes scope = 1; repeated Metric metrics = 2; }
    message Metric {
      string name = 1; string unit = 3;
      oneof data { Data gauge = 5; Data sum = 7; Data histogram = 9; Data exponential_histogram = 10; Data summary = 11; }
    }
    message Data { repeated Point data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
    message Point { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; string key = 1; repeated Point exemplars = 5; }
    message Logs { repeated ResourceLogs resource_logs = 1; }
    message ResourceLogs { Attributes resource = 1; repeated ScopeLogs scope_logs = 2; }
    message ScopeLogs { Attributes scope = 1; repeated Record log_records = 2; }
    message Record { fixed64 time_unix_nano = 1; Text body = 5; }
    message Text { string string_value = 1; }
    message Response { Partial partial_success = 1; }
    message LogsResponse { LogsPartial partial_success = 1; }
    message LogsPartial { int64 rejected_log_records = 1; string error_message = 2; }
    message Partial { int64 rejected_data_points = 1; string error_message = 2; }`);
  const [METRICS, METRICS_TOLD] = [root.lookupType('Request'), root.lookupType('Response')];
  const [LOGS, LOGS_TOLD] = [root.lookupType('Logs'), root.lookupType('LogsResponse')];
  const points = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      timeUnixNano: '1767225600123456789',
      asDouble: i,
      exemplars: [{ asDouble: 1 }],
    }));
  const metricsOf = (metrics: object[]) => ({
    resourceMetrics: [
      { resource: { attributes: [{ key: 'a' }, { key: 'b' }] }, scopeMetrics: [] },
      { scopeMetrics: [{ metrics: [] }, { scope: {}, metrics }] },
    ],
  });
  const aRecord = { timeUnixNano: '1767225600123456789', body: { stringValue: 'GET /' } };
  const logsOf = (...counts: number[]) => ({
    resourceLogs: counts.map((count) => ({
      resource: { attributes: [{ key: 'service.name' }] },
      scopeLogs: [{ scope: {}, logRecords: Array(count).fill(count > 100 ? {} : aRecord) }],
    })),
  });
  const NO_METRICS = {
    rejects: 'rejectedDataPoints',
    why: /does not store metrics.*OTEL_METRICS_EXPORTER=none/,
  };
  const NO_LOGS = {
    rejects: 'rejectedLogRecords',
    why: /gen_ai\.\*.*Claude Code.*does not store other/,
  };

  it.each([
    ['a gauge', '/v1/metrics', metricsOf([{ gauge: { dataPoints: points(2) } }]), '2', NO_METRICS],
    [
      'metrics of each kind',
      '/otel/v1/metrics',
      metricsOf([
        { name: 'a', gauge: { dataPoints: points(1) } },
        { name: 'b', sum: { dataPoints: points(20), isMonotonic: true } },
        {
          name: 'c',
          unit: 'ms',
          histogram: { dataPoints: points(30), aggregationTemporality: 2 },
        },
        { name: 'd', exponentialHistogram: { dataPoints: points(40) } },
        { name: 'e', summary: { dataPoints: points(50) } },
        { name: 'none', gauge: {} },
      ]),
      '141',
      NO_METRICS,
    ],
    ['log records', '/v1/logs', logsOf(2, 0, 3), '5', NO_LOGS],
    ['more log records than are read', '/otel/v1/logs', logsOf(12_000), '12000', NO_LOGS],
  ])(
    'are told how many of them are not kept: %s',
    async (...[, path, body, count, { rejects, why }]) => {
      const [request, response] = path.endsWith('logs')
        ? [LOGS, LOGS_TOLD]
        : [METRICS, METRICS_TOLD];
      const partialSuccess = { [rejects]: count, errorMessage: expect.stringMatching(why) };
      const json = gzipSync(JSON.stringify(body));
      const told = await app.post(path, json, { headers: { 'content-encoding': 'gzip' } });
      expect([told.status, told.body]).toEqual([200, { partialSuccess }]);
      const bytes = gzipSync(request.encode(request.fromObject(body)).finish());
      const answer = await fetch(app.url + path, {
        method: 'POST',
        headers: {
          authorization: basic(app.key),
          'content-type': 'application/x-protobuf',
          'content-encoding': 'gzip',
        },
        body: bytes,
      });
      expect(answer.status).toBe(200);
      const decoded = response.decode(new Uint8Array(await answer.arrayBuffer())).toJSON();
      expect(decoded).toEqual({ partialSuccess });
    },
  );

  it.each([
    ['nothing', {}],
    ['members of other names and shapes', { resourceLogs: [{ scopeMetrics: 1 }], resourceMetrics: [null, 1, 'x', [[]]] }], // prettier-ignore
    [
      'points outside of metrics',
      { dataPoints: [{}], resourceMetrics: [{ scopeMetrics: [{ x: { metrics: [{ gauge: { dataPoints: [{}] } }] } }] }] },
    ], // prettier-ignore
  ])('count no data points in %s', async (_, body) => {
    expect(await app.post('/v1/metrics', body)).toMatchObject({ status: 200, text: '{}' });
  });
});

// must be the last suite: when its app closes, it resets the metrics of the process
describe('a span or log record that is as long as a body', () => {
  const large = useApp();

  const values = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ intValue: String(i) }));
  /** A span with more than 60,000 fields and values: 30,000 numbers of two each. */
  const aWideSpan = () =>
    aSpan({
      name: 'chat gpt-4o',
      attributes: [
        { key: 'tokens', value: { arrayValue: { values: values(30_000) } } },
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.request.model', 'gpt-4o'),
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '7' } },
      ],
      events: [{ name: 'e', timeUnixNano: '1767225600123456789' }],
    });
  const NESTED = Array.from({ length: 110 }).reduce<object>(
    (value) => ({ arrayValue: { values: [value] } }),
    { stringValue: 'x' },
  );
  const aDeepSpan = () => aSpan({ name: 'chat gpt-4o', attributes: [{ key: 'd', value: NESTED }] });
  const asJson = (list: object[]) => JSON.stringify(request(list));
  const asProtobuf = (list: any[]) => {
    const bytes = (hex: string | undefined) => hex && Buffer.from(hex, 'hex');
    const spans = list.map(({ traceId, spanId, parentSpanId, ...span }) => ({
      ...span,
      ...{ traceId: bytes(traceId), spanId: bytes(spanId), parentSpanId: bytes(parentSpanId) },
    }));
    return Buffer.from(SPANS.encode(SPANS.fromObject(request(spans))).finish());
  };

  it.each([
    ['JSON', 'of 60,000 values', 'application/json', asJson, aWideSpan],
    ['protobuf', 'of 60,000 values', 'application/x-protobuf', asProtobuf, aWideSpan],
    ['JSON', 'deeper than is read', 'application/json', asJson, aDeepSpan],
  ])(
    'is stored without its long attributes, and says so: %s, %s',
    async (...[, , type, encode, make]) => {
      const [parent, child] = [make(), aSpan()];
      const body = encode([parent, { ...child, parentSpanId: parent.spanId }]);
      const headers = { project_id, 'content-type': type };
      const answer = await large.post(PATH, body, { headers });
      expect(answer.status).toBe(200);
      const told = type === 'application/json' ? answer.body.partialSuccess.errorMessage : answer.text; // prettier-ignore
      expect(told).toMatch(/Skein left out .*(over the limit of 50000|depth)/);
      expect(answer.body?.partialSuccess?.rejectedSpans).toBeUndefined();
      const { call } = (await large.post('/call/read', { project_id, id: parent.spanId })).body;
      expect(call).toMatchObject({
        op_name: 'chat gpt-4o',
        trace_id: TRACE,
        summary: { svc: { latency_ms: 1000 } },
        attributes: { 'skein.left_out': expect.stringMatching(/^Skein left out/) },
      });
      if (make === aWideSpan)
        expect(call.summary.usage).toEqual({ 'gpt-4o': { requests: 1, prompt_tokens: 7 } });
      const stored = await large.post('/call/read', { project_id, id: child.spanId });
      expect(stored.body.call.parent_id).toBe(parent.spanId);
    },
  );

  const RECORDS = lookupType('collector.logs.v1.ExportLogsServiceRequest');
  const aLongRecord = (traceId: unknown, spanId: unknown) => ({
    ...{ timeUnixNano: '1767225600123456789', eventName: 'gen_ai.user.message', traceId, spanId },
    body: { kvlistValue: { values: [text('content', 'x'.repeat(9 * 1024 * 1024))] } },
  });
  const recordsOf = (record: object) => ({
    resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }],
  });
  const id = 'a'.repeat(16);
  it.each([
    ['JSON', 'application/json', () => JSON.stringify(recordsOf(aLongRecord(TRACE, id)))],
    [
      'protobuf',
      'application/x-protobuf',
      () => {
        const record = aLongRecord(Buffer.from(TRACE, 'hex'), Buffer.from(id, 'hex'));
        return Buffer.from(RECORDS.encode(RECORDS.fromObject(recordsOf(record))).finish());
      },
    ],
  ])('is refused alone, and told, if it is a log record of 9 MiB: %s', async (_, type, body) => {
    const headers = { project_id, 'content-type': type };
    const { status, text: told } = await large.post('/v1/logs', body(), { headers });
    expect(status).toBe(200);
    expect(told).toMatch(/a log record holds \d+ bytes, over the limit of 8388608/);
  });

  it.each([
    ['JSON', 'application/json', asJson],
    ['protobuf', 'application/x-protobuf', asProtobuf],
  ])('is refused alone, and told, if it is a span without a start: %s', async (_, type, encode) => {
    const [good, bad] = [aSpan(), aSpan({ startTimeUnixNano: '0' })];
    const headers = { project_id, 'content-type': type };
    const { status, text: told } = await large.post(PATH, encode([bad, good]), { headers });
    expect(status).toBe(200);
    expect(told).toMatch(/startTimeUnixNano is required/);
    const { body } = await large.post('/call/read', { project_id, id: good.spanId });
    expect(body.call).not.toBeNull();
  });

  it.each([9, 20])(
    'is stored with its call of %i MiB, and its child below it',
    async (mebibytes) => {
      const picture = 'QUJD'.repeat((mebibytes * 1024 * 1024) / 4);
      const messages = `[{"role":"user","content":[{"type":"image","data":"${picture}"}], "n":1.0}]`;
      const parent = aSpan({ attributes: [text('gen_ai.input.messages', messages), text('picture', picture), text('a', 'b')].slice(0, mebibytes > 9 ? 1 : 3) }); // prettier-ignore
      const child = aSpan({ parentSpanId: parent.spanId });
      const { text: answer } = await large.post(PATH, request([child, parent]), toProject);
      expect(answer).toBe('{}');
      const { body, text: json } = await large.post('/call/read', {
        project_id,
        id: parent.spanId,
      });
      expect(json).toContain(`"messages":${messages}`);
      const { call } = body;
      if (mebibytes === 9) expect(call.attributes).toMatchObject({ picture, a: 'b' });
      const kept = call.attributes.otel_span.attributes;
      expect(kept[0].value.stringValue).toBe(
        `[left out by Skein: ${messages.length.toLocaleString('en-US')} characters]`,
      );
      expect(JSON.stringify(kept).length).toBeLessThan(1000);
      const { body: trace } = await large.post('/calls/query', { project_id, filter: { parent_ids: [parent.spanId] }, columns: ['id'] }); // prettier-ignore
      expect(trace.calls.map(({ id }: { id: string }) => id)).toEqual([child.spanId]);
    },
  );
});

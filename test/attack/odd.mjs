// Makes requests with odd variants of what real clients send. Each uses the route of that client, and its number
// decides all of it, as in bodies.mjs. `answers` are 5xx statuses that are right. `returned` is the id of a call and a
// text: after an acknowledged write, `/call/read` must return this text.
import { createHash } from 'node:crypto';
import { aStart, AT, field, times } from './client.mjs';
import { ODD_TOOL_CALLS } from './models.mjs';

const MIB = 1024 * 1024;
const OTLP = '/v1/traces';
const CHAT = '/v1/chat/completions';

/** Names of threads, sessions and users. */
const NAMES = [
  '',
  ' ',
  'null',
  'a'.repeat(1281),
  'é'.repeat(641),
  'x'.repeat(100_000),
  '\u0000',
  '\ud83d',
  '👍🏽',
  '你好 %00 "\\',
  '[Scrubbed due to x]',
  ['a', 'b'],
  [],
  {},
  { id: 'a' },
  0,
  -1,
  1.5,
  true,
  null,
];
/** Numbers, and values that look like numbers. */
const COUNTS = [
  0,
  -1,
  -1e15,
  0.5,
  1e-7,
  1e21,
  2 ** 53,
  Number.MAX_VALUE,
  'NaN',
  'Infinity',
  '-Infinity',
  '1e999',
  '0x10',
  '١٢',
  '1,000',
  '',
  ' 7 ',
  true,
  null,
  [],
  [1],
  {},
];
const NEEDLES = [
  '%',
  '_',
  '\\',
  '\\\\',
  '\\%_',
  '.*',
  '(a+)+$',
  '[',
  '(?<=',
  '$1',
  '^',
  "'",
  "';--",
  '"',
  '\u0000',
  '\ud83d',
  '\ude00',
  'K',
  'ſ',
  'İ',
  '\u2028',
  '\\u0041',
  '\\ud83d',
  '(?:'.repeat(500),
  '\\'.repeat(2000),
  '',
];
const NANOS = [
  '1',
  '0',
  '-1',
  '1769860800000000000',
  '18446744073709551615',
  '9223372036854775807',
  '253402300800000000000',
  '8640000000000001000000',
  '99999999999999999999999',
  '1.5',
  'x',
  '',
  null,
  1e300,
  1.5,
  1769860800000,
];
const TIMES = [
  '0001-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '9999-12-31T23:59:59.999999Z',
  '+010000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '2026-02-30T00:00:00Z',
  '2026-01-31T24:00:00Z',
  '2026-12-31T23:59:60Z',
  '2026-01-31T12:00:00+99:99',
  '2026-01-31',
  '2026-W01',
  '',
  0,
  1e308,
  null,
];
const WAYS = [
  { id: 'x', of: 'y' },
  { id: 'self', of: 'self' },
];

const string = (key, stringValue) => ({ key, value: { stringValue } });

/** Returns a value as OpenTelemetry exporters print it. */
function anyValue(value) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return { intValue: String(value) };
  if (typeof value === 'number') return { doubleValue: value };
  if (value === null) return {};
  const values = Object.entries(value).map(([key, one]) => ({ key, value: anyValue(one) }));
  return { kvlistValue: { values } };
}

const attributes = (members) =>
  Object.entries(members).map(([key, value]) => ({ key, value: anyValue(value) }));

class Requests {
  constructor(maker) {
    this.maker = maker;
  }

  one = (list) => this.maker.one(list);
  below = (count) => this.maker.below(count);
  hex = (length) => createHash('sha256').update(this.id).digest('hex').slice(0, length);
  get id() {
    return `odd${this.maker.number}`;
  }
  get project() {
    return this.maker.project;
  }

  span(more) {
    return {
      traceId: this.hex(32),
      spanId: this.hex(16),
      name: 'odd',
      startTimeUnixNano: '1769860800000000000',
      endTimeUnixNano: '1769860801000000000',
      ...more,
    };
  }

  spans(spans, scope = { name: 'odd' }) {
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ scope, spans }] }] });
    return { path: OTLP, body, headers: { project_id: this.project } };
  }

  protobufSpan(bytes) {
    const ids = [
      field(1, Buffer.from(this.hex(32), 'hex')),
      field(2, Buffer.from(this.hex(16), 'hex')),
      field(5, Buffer.from('odd')),
      Buffer.from([0x39, 0, 0, 0, 0, 0x10, 0x5f, 0x8f, 0x18]),
      Buffer.from([0x41, 0, 0, 0, 0, 0x10, 0x5f, 0x8f, 0x18]),
    ];
    const body = field(1, field(2, field(2, Buffer.concat([...ids, bytes]))));
    const headers = { project_id: this.project, 'content-type': 'application/x-protobuf' };
    return { path: OTLP, body, headers };
  }

  records(logRecords) {
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    return { path: '/v1/logs', body, headers: { project_id: this.project } };
  }

  /** Returns a start whose inputs are this text and must be read back unchanged. */
  inputs(text) {
    const start = JSON.stringify(
      aStart({ project_id: this.project, id: this.id, trace_id: this.id }),
    );
    const body = `{"start":${start.slice(0, -1)},"inputs":${text}}}`;
    return { path: '/call/start', body, returned: { id: this.id, text } };
  }

  ingestion(events) {
    const { authorization } = this.maker.stored.langfuse;
    const batch = events.map(([type, body], i) => ({
      id: `${this.id}-${i}`,
      timestamp: AT,
      type,
      body: { id: this.id, traceId: `${this.id}t`, startTime: AT, ...body },
    }));
    return {
      path: '/api/public/ingestion',
      body: JSON.stringify({ batch }),
      headers: { authorization },
    };
  }

  chat(content, more = {}, headers = {}) {
    const body = { model: 'm', messages: [{ role: 'user', content }], ...more };
    return {
      path: CHAT,
      body: JSON.stringify(body),
      headers: { 'x-skein-project': this.project, ...headers },
      answers: [502],
    };
  }
}

/** Nests JSON in JSON strings. Each level doubles the backslashes, so it stops at one megabyte. */
function nested(levels) {
  let text = '{"a":"needle"}';
  for (let i = 0; i < levels && text.length < MIB; i++)
    text = i % 2 === 0 ? JSON.stringify(text) : `{"a":${text}}`;
  return text;
}

const isBlind = { $getField: 'inputs' };

/**
 * @typedef {{ path: string, method?: string, body?: string | Buffer, headers?: object, answers?: number[],
 *   returned?: { id: string, text: string } }} OddRequest
 * @type {Record<string, (it: Requests) => OddRequest>}
 */
const ODD_REQUESTS = {
  'tool calls of a stream': (it) => it.chat(it.one(Object.keys(ODD_TOOL_CALLS)), { stream: true }),
  'session in a header': (it) => {
    const name = it.one([
      'x-session-id',
      'x-litellm-session-id',
      'helicone-session-id',
      'x-odd-session-id',
      'session_id',
      'x-skein-attributes',
      'x-skein-thread-id',
      'x-skein-parent-id',
    ]);
    const value = it.one([
      '',
      ' ',
      'null',
      'a'.repeat(1281),
      'a'.repeat(12_000),
      Buffer.from('你好').toString('latin1'),
      '\xff\xfe',
      '["a"]',
      '{"a":1}',
      '%00',
      '%ff',
    ]);
    const baggage = it.one(['session.id=%ff', 'session.id=', 'session.id=%00,session.id=b']);
    return it.chat('x', {}, it.one([{ [name]: value }, { baggage }]));
  },
  'session in a body of the gateway': (it) => {
    const value = it.one(NAMES);
    const more = it.one([
      { session_id: value },
      { litellm_session_id: value },
      { metadata: { session_id: value } },
      { metadata: value },
      { conversation: value },
      { conversation: { id: value } },
      { user: value },
    ]);
    return it.chat('x', more);
  },
  'session of a span': (it) => {
    const value = it.one(NAMES);
    const key = it.one([
      'session.id',
      'gen_ai.conversation.id',
      'langfuse.session.id',
      'traceloop.association.properties.session_id',
      'user.id',
      'enduser.id',
      'langfuse.user.id',
      'metadata',
      'langfuse.trace.metadata',
      'tag.tags',
    ]);
    return it.spans([it.span({ attributes: attributes({ [key]: value }) })]);
  },
  'session of a call': (it) => {
    const start = { project_id: it.project, id: it.id, trace_id: it.id, thread_id: it.one(NAMES) };
    return { path: '/call/start', body: JSON.stringify({ start: aStart(start) }) };
  },
  'source of a call': (it) => {
    const name = it.one([
      'skein.source',
      'skein',
      'source',
      'resource',
      'weave',
      '_weave_eval_meta',
      'environment',
      'langfuse.environment',
      'gen_ai.operation.name',
      'openinference.span.kind',
    ]);
    const source = it.one(['evaluation', 'Playground', ' production', ...NAMES]);
    const value = it.one([source, { source }, { 'skein.source': source }, [source]]);
    if (it.one([true, false]))
      return it.spans([it.span({ attributes: attributes({ [name]: value }) })]);
    const ids = { id: it.id, trace_id: it.id, parent_id: it.one([null, it.id, 'later']) };
    const start = { project_id: it.project, ...ids, attributes: { [name]: value } };
    return { path: '/call/start', body: JSON.stringify({ start: aStart(start) }) };
  },
  'span of 9 to 30 MB, one attribute': (it) => {
    const sign = it.one(['x', '\\\\', '\\n', '\\u0000', 'é', '\\ud83d']);
    const text = sign.repeat(((9 + it.below(22)) * MIB) / Buffer.byteLength(sign));
    const name = it.one(['input.value', 'output.value', 'odd', 'gen_ai.input.messages']);
    const sent = it.spans([it.span({ attributes: [string(name, 'ODD')] })]);
    return { ...sent, body: sent.body.replace('ODD', () => text) };
  },
  'span of 9 to 30 MB, many fields': (it) => {
    const count = it.one([49_000, 60_000, 240_000]);
    const length = Math.floor(((9 + it.below(20)) * MIB) / count) - 50;
    const value = anyValue('x'.repeat(Math.max(1, length)));
    return it.spans([it.span({ attributes: times(count, (i) => ({ key: `k${i}`, value })) })]);
  },
  'span of protobuf of 9 to 30 MB': (it) => {
    const bytes = (9 + it.below(22)) * MIB;
    const attribute = (key, length) =>
      field(
        9,
        Buffer.concat([field(1, Buffer.from(key)), field(2, field(1, Buffer.alloc(length, 'x')))]),
      );
    const count = it.one([1, 100, 12_000, 60_000, 200_000]);
    const small = attribute('k', Math.max(1, Math.floor(bytes / count) - 20));
    return it.protobufSpan(
      count === 1 ? attribute('input.value', bytes) : Buffer.alloc(small.length * count, small),
    );
  },
  'parents of spans': (it) => {
    const spanId = it.hex(16);
    const other = spanId.replace(/./g, (digit) => (15 - parseInt(digit, 16)).toString(16));
    const parentSpanId = it.one([
      '',
      '0'.repeat(16),
      spanId,
      other,
      spanId.toUpperCase(),
      'zz',
      '0',
      null,
      [],
      'ab'.repeat(16),
    ]);
    return it.spans([
      it.span({ spanId, parentSpanId }),
      it.span({ spanId: other, parentSpanId: spanId }),
    ]);
  },
  'parents of calls': (it) => {
    const [{ id, of }, parent] = [
      it.one(WAYS),
      it.one(['', '0', '0'.repeat(16), null, 'self', 'x', '\u0000', 'a'.repeat(2000), [], {}]),
    ];
    const [a, b] = [`${it.id}${id}`, `${it.id}${of}`];
    const start = (call, parent_id) =>
      aStart({ project_id: it.project, id: call, trace_id: it.id, parent_id, inputs: {} });
    const odd = typeof parent === 'string' && parent.length === 4 ? a : parent;
    const starts = it.one([[start(a, odd)], [start(a, b), start(b, a)], [start(a, a)]]);
    if (it.below(3) === 0)
      return { path: '/call/start', body: JSON.stringify({ start: starts[0] }) };
    const ended = starts.map((one) => ({ ...one, ended_at: AT, output: 1, summary: {} }));
    if (it.below(2) === 0)
      return { path: `/v2/${it.project}/calls/complete`, body: JSON.stringify({ batch: ended }) };
    const batch = starts.map((one) => ({ mode: 'start', req: { start: one } }));
    return { path: '/call/upsert_batch', body: JSON.stringify({ batch }) };
  },
  'a chain of parents that closes': (it) => {
    const length = it.one([2, 100, 5000]);
    const batch = times(length, (i) => ({
      mode: 'start',
      req: {
        start: aStart({
          project_id: it.project,
          id: `${it.id}-${i}`,
          trace_id: it.id,
          parent_id: `${it.id}-${(i + 1) % length}`,
          thread_id: it.id,
        }),
      },
    }));
    return { path: '/call/upsert_batch', body: JSON.stringify({ batch }) };
  },
  'usage of Langfuse': (it) => {
    const unit = it.one([
      'TOKENS',
      'CHARACTERS',
      'MILLISECONDS',
      'SECONDS',
      'IMAGES',
      'REQUESTS',
      'x',
      '',
      0,
      null,
      [],
    ]);
    const [input, output, total] = times(3, () => it.one(COUNTS));
    const shares = Object.fromEntries(
      times(it.one([3, 1000, 20_000]), (i) => [`input_k${i}`, it.one(COUNTS)]),
    );
    const body = it.one([
      { usage: { input, output, total, unit } },
      { usage: { promptTokens: input, completionTokens: output, totalTokens: total } },
      { usageDetails: { input, output, total } },
      { usageDetails: { ...shares, total } },
      { usage: { unit }, usageDetails: { total } },
      { usage: it.one(COUNTS), usageDetails: it.one(COUNTS) },
      { usage: { inputCost: input, outputCost: output, totalCost: total }, costDetails: shares },
    ]);
    return it.ingestion([['generation-create', { model: 'm', endTime: AT, ...body }]]);
  },
  'usage of spans': (it) => {
    const [input, output, total] = times(3, () => it.one(COUNTS));
    return it.spans([
      it.span({
        attributes: attributes(
          it.one([
            {
              'gen_ai.request.model': 'm',
              'gen_ai.usage.input_tokens': input,
              'gen_ai.usage.output_tokens': output,
              'gen_ai.usage.total_tokens': total,
            },
            {
              'langfuse.observation.type': 'generation',
              'langfuse.observation.usage_details': JSON.stringify({ input, output, total }),
            },
            { 'llm.token_count.prompt': input, 'llm.token_count.total': total },
          ]),
        ),
      }),
    ]);
  },
  'usage of calls': (it) => {
    const usage = Object.fromEntries(
      times(it.one([1, 3, 2000]), (i) => [
        `m${i}`,
        { prompt_tokens: it.one(COUNTS), total_tokens: it.one(COUNTS), requests: it.one(COUNTS) },
      ]),
    );
    const call = {
      ...aStart({ project_id: it.project, id: it.id, trace_id: it.id }),
      ended_at: AT,
      output: {},
      summary: { usage },
    };
    return { path: `/v2/${it.project}/calls/complete`, body: JSON.stringify({ batch: [call] }) };
  },
  'times of spans': (it) =>
    it.spans([
      it.span({
        startTimeUnixNano: it.one(NANOS),
        endTimeUnixNano: it.one(NANOS),
        events: [{ name: 'gen_ai.evaluation.result', timeUnixNano: it.one(NANOS) }],
      }),
    ]),
  'times of log records': (it) =>
    it.records([
      {
        timeUnixNano: it.one(NANOS),
        observedTimeUnixNano: it.one(NANOS),
        traceId: it.hex(32),
        spanId: it.hex(16),
        eventName: 'gen_ai.user.message',
        body: anyValue({ content: 'x' }),
      },
    ]),
  'times of calls': (it) => {
    const start = aStart({ project_id: it.project, id: it.id, trace_id: it.id });
    const call = { ...start, started_at: it.one(TIMES) };
    return it.one([
      { path: '/call/start', body: JSON.stringify({ start: call }) },
      {
        path: `/v2/${it.project}/calls/complete`,
        body: JSON.stringify({
          batch: [{ ...call, ended_at: it.one(TIMES), output: {}, summary: {} }],
        }),
      },
    ]);
  },
  'times of Langfuse': (it) =>
    it.ingestion([
      [
        'generation-create',
        {
          startTime: it.one(TIMES),
          endTime: it.one(TIMES),
          completionStartTime: it.one(TIMES),
          model: 'm',
        },
      ],
    ]),
  '10,000 keys of metadata': (it) => {
    const key = it.one(['k', '__proto__.', 'é', '\u0000', 'a b']);
    const metadata = Object.fromEntries(times(10_000, (i) => [`${key}${i}`, it.one(COUNTS)]));
    return it.one([
      it.ingestion([
        ['trace-create', { metadata }],
        ['trace-create', { metadata }],
      ]),
      it.spans([it.span({ attributes: attributes({ metadata }) })]),
      it.spans([it.span({ attributes: attributes(metadata) })]),
      it.inputs(JSON.stringify({ metadata })),
    ]);
  },
  'a medium that is announced': (it) => {
    const { authorization } = it.maker.stored.langfuse;
    const body = {
      traceId: it.one(['t', '', null, []]),
      field: it.one(['input', 'x', null]),
      contentType: it.one(['image/png', 'text/html', 'x', '', 'image/png; charset="\\', null]),
      contentLength: it.one([0, 1, -1, 1.5, 1e15, '1', null]),
      sha256Hash: it.one([
        '',
        'x',
        'A'.repeat(43),
        `${'A'.repeat(43)}=`,
        `${'_'.repeat(43)}=`,
        [],
        null,
      ]),
    };
    return { path: '/api/public/media', body: JSON.stringify(body), headers: { authorization } };
  },
  'a medium by its URL': (it) => {
    const { media } = it.maker.stored.langfuse;
    const { url, bytes } = it.one(media);
    const [path, query] = url.split('?');
    const asked = it.one([
      query,
      query,
      query,
      '',
      `${query}&${query}`,
      `${query}&x=${'y'.repeat(8000)}`,
      query.replaceAll('=', '[]='),
      query.replaceAll('=', '[a][b]='),
      query.replaceAll(/\d/g, '9'),
      query.toUpperCase(),
      '%',
      '%ff=%00',
      '&'.repeat(4000),
    ]);
    const method = it.one(['PUT', 'PUT', 'GET', 'POST', 'PATCH']);
    const sent = it.one([
      bytes,
      bytes.subarray(1),
      Buffer.concat([bytes, bytes]),
      Buffer.alloc(bytes.length, 1),
      Buffer.alloc(0),
    ]);
    const checksum = it.one(['', 'x', 'A'.repeat(44), createHash('sha256').digest('base64')]);
    const headers = it.one([
      { 'content-type': 'image/png' },
      { 'content-type': 'image/png', 'x-amz-checksum-sha256': checksum },
      { 'content-type': 'text/html' },
      { 'content-type': '' },
    ]);
    return {
      path: asked ? `${path}?${asked}` : path,
      method,
      headers,
      ...(method !== 'GET' && { body: sent }),
    };
  },
  'needles in whole documents': (it) => {
    const substr = { $literal: it.one(NEEDLES) };
    const one = (name) => ({
      $contains: { input: { $getField: name }, substr, case_insensitive: it.below(2) === 0 },
    });
    const query = { $expr: { $or: ['inputs', 'output', 'exception'].map(one) } };
    const odd = {
      $contains: { input: isBlind, substr: it.one([isBlind, { $literal: it.one(COUNTS) }]) },
    };
    const asked = it.one([query, query, { $expr: odd }, { $expr: { $not: [odd] } }]);
    const project_id = it.maker.stored.project;
    return it.one([
      {
        path: '/calls/stream_query',
        body: JSON.stringify({ project_id, query: asked, limit: 100 }),
      },
      { path: '/calls/query_stats', body: JSON.stringify({ project_id, query: asked }) },
      {
        path: '/agents/search',
        body: JSON.stringify({ project_id, query: it.one(NEEDLES), limit: 10 }),
      },
    ]);
  },
  '30 MiB of escapes': (it) => {
    const sign = it.one(['\\\\', '\\"', '\\u0000', '\\ud83d', '\\/', '\\u005c']);
    return it.inputs(`{"a":"${sign.repeat((30 * MIB) / sign.length)}"}`);
  },
  'JSON in strings of JSON': (it) => {
    const text = nested(8 + it.below(40));
    return it.one([
      it.inputs(`{"a":${text}}`),
      it.spans([it.span({ attributes: [string('input.value', text)] })]),
      it.ingestion([['span-create', { input: text, output: text, metadata: text }]]),
      it.chat('x', { messages: [{ role: 'user', content: text }] }),
    ]);
  },
  'nested texts of turns': (it) => {
    const text = nested(8 + it.below(40));
    const call = {
      ...aStart({ project_id: it.project, id: it.id, trace_id: it.id }),
      ...{ thread_id: 'turns', turn_id: it.id, ended_at: AT, summary: {} },
      inputs: { messages: [{ role: 'user', content: text }], input: text },
      output: it.one([text, { choices: [{ message: { content: text } }] }, [text], null]),
    };
    return it.one([
      { path: `/v2/${it.project}/calls/complete`, body: JSON.stringify({ batch: [call] }) },
      {
        path: '/agents/conversations/chat',
        body: JSON.stringify({ project_id: it.project, conversation_id: 'turns' }),
      },
      {
        path: '/threads/turns/query',
        body: JSON.stringify({ project_id: it.project, thread_id: 'turns' }),
      },
    ]);
  },
  'one id of a response on many calls': (it) => {
    const at = it.hex(12);
    const spans = times(it.one([50, 3000]), (i) =>
      it.span({
        spanId: `${at}${i.toString(16).padStart(4, '0')}`,
        attributes: attributes({
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm',
          'gen_ai.response.id': 'chatcmpl-constant',
          'gen_ai.usage.input_tokens': i,
        }),
      }),
    );
    return it.one([it.spans(spans), it.chat('constant id')]);
  },
  'many siblings of langfuse-sdk': (it) => {
    const at = it.hex(12);
    const spans = times(it.one([50, 3000]), (i) =>
      it.span({
        spanId: `${at}${i.toString(16).padStart(4, '0')}`,
        parentSpanId: 'ef'.repeat(8),
        attributes: attributes({
          'langfuse.observation.type': 'generation',
          'langfuse.observation.model.name': 'm',
          'langfuse.observation.usage_details': `{"input":${i},"output":1}`,
        }),
      }),
    );
    return it.spans(spans, { name: 'langfuse-sdk' });
  },
  '32 MiB of empty items': (it) => {
    const [path, head, tail] = it.one([
      [
        '/v1/metrics',
        '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[',
        ']}}]}]}]}',
      ],
      ['/v1/metrics', '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[', ']}]}]}'],
      ['/v1/metrics', '{"resourceMetrics":[', ']}'],
      ['/v1/logs', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[', ']}]}]}'],
      ['/v1/logs', '{"resourceLogs":[', ']}'],
      ['/v1/logs', '{"gen_ai.":0,"resourceLogs":[{"scopeLogs":[{"logRecords":[', ']}]}]}'],
    ]);
    const item = it.one(['{},', '[],', 'null,', '{"a":1},', '[[[]]],']);
    const items = item.repeat((32 * MIB - 1000) / item.length).slice(0, -1);
    const body = `${head}${items}${tail}`;
    return { path, body, headers: { project_id: it.project } };
  },
  'results of evaluations': (it) => {
    const value = it.one([...COUNTS, ...NAMES]);
    const members = {
      'gen_ai.evaluation.name': it.one(['a', 'a', ...NAMES]),
      'gen_ai.evaluation.score.value': value,
      'gen_ai.evaluation.score.label': it.one(NAMES),
      'gen_ai.evaluation.explanation': it.one(NAMES),
      'gen_ai.response.id': it.one(['', 'chatcmpl-constant', 'x'.repeat(5000), ['a']]),
      ['odd\u0000'.slice(0, 3 + it.below(2))]: it.one(NAMES),
    };
    const name = 'gen_ai.evaluation.result';
    const events = times(it.one([1, 1, 2000]), () => ({
      name,
      timeUnixNano: it.one(NANOS),
      attributes: attributes(members),
    }));
    const record = { eventName: name, timeUnixNano: '1769860800000000000' };
    const ids = it.one([
      { traceId: it.hex(32), spanId: it.hex(16) },
      { traceId: '', spanId: '' },
      { traceId: 'x' },
      {},
    ]);
    return it.one([
      it.spans([it.span({ events })]),
      it.records([{ ...record, ...ids, attributes: attributes(members) }]),
      it.records([{ ...record, ...ids, body: { kvlistValue: { values: attributes(members) } } }]),
    ]);
  },
  'odd values of documents': (it) => {
    const name = it.one(['__proto__', 'constructor', 'toString', '', '\u0000', '\ud83d', 'a.b']);
    const value = it.one([...NAMES, ...COUNTS]);
    return it.inputs(JSON.stringify({ [name]: value, value }));
  },
};

/** Returns the odd request with this number, in the order of the table. */
export function oddRequestOf(maker, index) {
  const names = Object.keys(ODD_REQUESTS);
  const name = names[index % names.length];
  maker.pushes.push(name);
  maker.project = `acme/odd${Math.floor(maker.number / 500)}`;
  const { method = 'POST', body, headers = {}, ...rest } = ODD_REQUESTS[name](new Requests(maker));
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { method, body: bytes, headers: { ...headers }, ...rest, how: maker.pushes.join(', ') };
}

import { parseContent } from './attributes.js';
import type { AnyValue, KeyValue, OtlpSpan } from './otlp.js';
import { toCall, InvalidSpan } from './span-call.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

const anyValue = (value: unknown): AnyValue => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value as number };
};
const keyValues = (attributes: object): KeyValue[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

const aSpan = (attributes: object = {}, overrides: Partial<OtlpSpan> = {}): OtlpSpan => ({
  traceId: TRACE,
  spanId: SPAN,
  name: 'chat',
  startTimeUnixNano: '1767225600123456789',
  endTimeUnixNano: '1767225601000000000',
  attributes: keyValues(attributes),
  ...overrides,
});
const ORIGIN = { resource: {}, scope: {} };
const parseCall = ({ call, documents }: ReturnType<typeof toCall>): any => ({
  ...call,
  ...Object.fromEntries(Object.entries(documents).map(([name, text]) => [name, JSON.parse(text)])),
});
const mapped = (attributes: object = {}, overrides: Partial<OtlpSpan> = {}) =>
  parseCall(toCall(aSpan(attributes, overrides), ORIGIN, 'acme/demo'));

it('takes ids, names and times, to the microsecond', () => {
  const parentSpanId = '00f067aa0ba902b7';
  expect(mapped({}, { parentSpanId })).toMatchObject({
    project_id: 'acme/demo',
    id: SPAN,
    trace_id: TRACE,
    parent_id: parentSpanId,
    op_name: 'chat',
    started_at: '2026-01-01T00:00:00.123456Z',
    ended_at: '2026-01-01T00:00:01.000000Z',
    thread_id: null,
    turn_id: null,
    inputs: {},
    output: null,
    exception: null,
    summary: {},
  });
});

it('takes a span without an end for a call that runs', () => {
  for (const endTimeUnixNano of [undefined, '0'])
    expect(mapped({}, { endTimeUnixNano })).not.toHaveProperty('ended_at');
});

it('cuts a name that is too long, and names the nameless', () => {
  expect(mapped({}, { name: '😀'.repeat(2000) }).op_name).toBe('😀'.repeat(1024));
  expect(mapped({}, { name: undefined }).op_name).toBe('span');
});

it.each<[string, Partial<OtlpSpan>]>([
  ['no trace id', { traceId: undefined }],
  ['a short trace id', { traceId: 'abcd' }],
  ['a trace id of zeros', { traceId: '0'.repeat(32) }],
  ['a long span id', { spanId: TRACE }],
  ['a span id of zeros', { spanId: '0'.repeat(16) }],
  ['a short parent id', { parentSpanId: 'ab' }],
  ['no start', { startTimeUnixNano: undefined }],
])('refuses a span with %s', (_, overrides) => {
  expect(() => mapped({}, overrides)).toThrow(InvalidSpan);
});

it('keeps attributes under their own names, beside the resource and the scope', () => {
  const attributes: KeyValue[] = [
    ...keyValues({ 'http.method': 'GET', n: 3, f: 0.5, b: true, list: ['a', 1] }),
    { key: 'big', value: { intValue: '9007199254740993' } },
    { key: 'map', value: { kvlistValue: { values: keyValues({ __proto__x: 1 }) } } },
    { key: 'bytes', value: { bytesValue: 'AAE=' } },
    { key: 'nan', value: { doubleValue: 'NaN' } },
    { key: 'nothing' },
    { key: '__proto__', value: { stringValue: 'p' } },
  ];
  const origin = {
    resource: { attributes: keyValues({ 'service.name': 's' }) },
    scope: { name: 'lib', version: '1' },
  };
  const call = parseCall(toCall(aSpan({}, { attributes }), origin, 'acme/demo'));
  expect(call.attributes).toEqual(
    JSON.parse(
      `{"resource":{"service.name":"s"},"scope":{"name":"lib","version":"1"},"http.method":"GET","n":3,"f":0.5,"b":true,
        "list":["a",1],"big":"9007199254740993","map":{"__proto__x":1},"bytes":"AAE=","nan":"NaN","nothing":null,"__proto__":"p"}`,
    ),
  );
});

describe('contents', () => {
  const messages = [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }];
  const json = JSON.stringify;

  it.each<[string, object, unknown, unknown]>([
    [
      'gen_ai.* as JSON',
      {
        'gen_ai.system_instructions': json([{ type: 'text', content: 'be kind' }]),
        'gen_ai.input.messages': json(messages),
        'gen_ai.output.messages': json([{ role: 'assistant' }]),
      },
      { messages, system_instructions: [{ type: 'text', content: 'be kind' }] },
      { messages: [{ role: 'assistant' }] },
    ],
    [
      'gen_ai.* of a tool',
      { 'gen_ai.tool.call.arguments': '{"city":"Rome"}', 'gen_ai.tool.call.result': 'sunny' },
      { city: 'Rome' },
      'sunny',
    ],
    [
      'gen_ai.* spelled one by one',
      {
        'gen_ai.prompt.1.content': 'second',
        'gen_ai.prompt.0.role': 'user',
        'gen_ai.prompt.0.content': 'first',
        'gen_ai.prompt.0.tool_calls.0.name': 'f',
        'gen_ai.completion.0.content': 'done',
      },
      {
        messages: [
          { role: 'user', content: 'first', tool_calls: [{ name: 'f' }] },
          { content: 'second' },
        ],
      },
      { messages: [{ content: 'done' }] },
    ],
    [
      'OpenInference messages',
      {
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': 'hi',
        'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'f',
        'input.value': '{"model":"m"}',
        'input.mime_type': 'application/json',
        'output.value': '{"not":"parsed"}',
        'output.mime_type': 'text/plain',
      },
      { messages: [{ role: 'user', content: 'hi' }], model: 'm' },
      { messages: [{ tool_calls: [{ function: { name: 'f' } }] }], output: '{"not":"parsed"}' },
    ],
    [
      'OpenInference messages beside the body that was sent, which is whole',
      {
        'llm.input_messages.0.message.role': 'user',
        'input.value': '{"messages":[{"role":"user","content":"hi","name":"ada"}]}',
        'input.mime_type': 'application/json',
        'output.value': '{"choices":[]}',
        'output.mime_type': 'application/json',
      },
      { messages: [{ role: 'user', content: 'hi', name: 'ada' }] },
      { choices: [] },
    ],
    [
      'OpenInference messages beside a body without chat messages',
      {
        'llm.input_messages.0.message.role': 'user',
        'input.value': '{"messages":["role=user"]}',
        'input.mime_type': 'application/json',
        'output.value': 'x',
      },
      { messages: [{ role: 'user' }] },
      'x',
    ],
    [
      'OpenInference values',
      {
        'input.value': 'a question',
        'output.value': '[1]',
        'output.mime_type': 'application/json',
      },
      { input: 'a question' },
      [1],
    ],
    [
      'Vercel',
      {
        'ai.prompt': '{"system":"s","messages":[1]}',
        'ai.prompt.messages': '[2]',
        'ai.prompt.tools': ['{"name":"f"}'],
        'ai.response.text': '{"stays":"text"}',
        'ai.response.toolCalls': '[{"toolName":"f"}]',
      },
      { messages: [2], tools: [{ name: 'f' }], system: 's' },
      { text: '{"stays":"text"}', tool_calls: [{ toolName: 'f' }] },
    ],
    [
      'a Vercel tool',
      { 'ai.toolCall.args': '{"a":1}', 'ai.toolCall.result': '{"b":2}' },
      { a: 1 },
      { b: 2 },
    ],
    [
      'OpenLLMetry workflows',
      { 'traceloop.entity.input': '{"args":[1]}', 'traceloop.entity.output': '"x' },
      { args: [1] },
      '"x',
    ],
  ])('of %s move to inputs and output', (_, attributes, inputs, output) => {
    const call = mapped(attributes);
    expect(call.inputs).toEqual(inputs);
    expect(call.output).toEqual(output);
    const kept = Object.keys(call.attributes).filter((name) => !name.endsWith('mime_type'));
    expect(kept).toEqual(['resource', 'scope']);
  });

  it('of events count where the span has none', () => {
    const events = [
      { name: 'gen_ai.content.prompt', attributes: keyValues({ 'gen_ai.prompt': 'hi' }) },
      { name: 'other', attributes: keyValues({ 'gen_ai.completion': 'no' }) },
    ];
    expect(mapped({}, { events })).toMatchObject({ inputs: { prompt: 'hi' }, output: null });
  });

  it('of events that are messages become messages', () => {
    const event = (name: string, attributes: object) => ({
      name,
      attributes: keyValues(attributes),
    });
    const events = [
      event('gen_ai.system.message', { content: 'be brief', 'gen_ai.system': 'x' }),
      event('gen_ai.user.message', { 'gen_ai.event.content': '{"content":"hi"}' }),
      event('gen_ai.tool.message', { id: 'call_1', content: 'sunny' }),
      event('gen_ai.choice', { message: '{"content":"ho"}', finish_reason: 'stop' }),
    ];
    expect(mapped({}, { events })).toMatchObject({
      inputs: {
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'hi' },
          { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        ],
      },
      output: {
        messages: [{ role: 'assistant', content: 'ho', finish_reason: 'stop' }],
      },
    });
  });

  it('that are strings of JSON lose their quotes, and JSON keeps its spelling', () => {
    const attributes = { 'gen_ai.tool.call.result': '"sunny"', 'input.value': '{"a":1.0}' };
    expect(mapped(attributes).output).toBe('sunny');
    expect(toCall(aSpan(attributes), ORIGIN, 'a/b').documents.inputs).toBe('{"a":1.0}');
  });

  it('survive names made to break them', () => {
    const call = mapped({
      'gen_ai.prompt.0.__proto__.polluted': 'x',
      'gen_ai.prompt.999999.content': 'far',
      'gen_ai.prompt.0.content': 'a',
      'gen_ai.prompt.0.content.deeper': 'b',
      [`gen_ai.prompt.0${'.x'.repeat(5000)}`]: 'deep',
    });
    expect(call.inputs.messages).toHaveLength(2);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('usage', () => {
  it.each<[string, object, object]>([
    [
      'gen_ai.*',
      {
        'gen_ai.request.model': 'asked',
        'gen_ai.response.model': 'm',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 0,
        'gen_ai.usage.cache_read.input_tokens': 4,
      },
      { prompt_tokens: 10, completion_tokens: 0, cache_read_input_tokens: 4 },
    ],
    [
      'OpenInference',
      {
        'llm.model_name': 'm',
        'llm.token_count.prompt': 3,
        'llm.token_count.completion': 4,
        'llm.token_count.total': 7,
      },
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    ],
    [
      'Vercel',
      { 'ai.model.id': 'm', 'ai.usage.promptTokens': 5, 'ai.usage.completionTokens': 6 },
      { prompt_tokens: 5, completion_tokens: 6 },
    ],
  ])('of %s is listed under its model', (_, attributes, usage) => {
    expect(mapped(attributes).summary).toEqual({ usage: { m: { requests: 1, ...usage } } });
  });

  it('without a model is not lost, and without counts not made up', () => {
    expect(mapped({ 'gen_ai.usage.input_tokens': 1 }).summary.usage).toHaveProperty('unknown');
    const noCounts = { 'gen_ai.response.model': 'm', 'gen_ai.usage.input_tokens': 'many' };
    // a count that cannot be read is kept, so that its cost is unknown and not 0
    expect(mapped(noCounts).summary).toEqual({
      usage: { m: { requests: 1, prompt_tokens: 'many' } },
    });
  });
});

it.each<[string, Partial<OtlpSpan>, object, number]>([
  ['an agent in the process', {}, { 'gen_ai.operation.name': 'invoke_agent' }, 0],
  ['an agent elsewhere', { kind: 3 }, { 'gen_ai.operation.name': 'invoke_agent' }, 1],
  ['a call of a model', { kind: 3 }, { 'gen_ai.operation.name': 'chat' }, 1],
  ['an operation of Vercel', {}, { 'ai.operationId': 'ai.streamText' }, 0],
  ['a call of a model by Vercel', {}, { 'ai.operationId': 'ai.streamText.doStream' }, 1],
  ['an agent of OpenInference', {}, { 'openinference.span.kind': 'AGENT' }, 0],
  ['a chain of OpenInference', {}, { 'openinference.span.kind': 'CHAIN' }, 0],
  ['a model of OpenInference', {}, { 'openinference.span.kind': 'LLM' }, 1],
  ['a workflow of OpenLLMetry', {}, { 'traceloop.span.kind': 'workflow' }, 0],
  ['an agent of MLflow', {}, { 'mlflow.spanType': '"AGENT"' }, 0],
  ['a model of MLflow', {}, { 'mlflow.spanType': '"CHAT_MODEL"' }, 1],
  ['a span of Langfuse', {}, { 'langfuse.observation.type': 'span' }, 0],
  ['a generation of Langfuse', {}, { 'langfuse.observation.type': 'generation' }, 1],
  ['a request in the accounts of AG2', { name: 'record_usage model_call' }, {}, 0],
  ['a summary in the accounts of AG2', { name: 'record_usage compaction' }, {}, 1],
  ['a span of no kind', {}, {}, 1],
])('says how many requests %s made itself', (_, overrides, attributes, requests) => {
  const { summary } = mapped({ ...attributes, 'gen_ai.usage.input_tokens': 1 }, overrides);
  expect(Object.values<any>(summary.usage)[0].requests).toBe(requests);
});

it('names a model as the prices do', () => {
  const attributes = {
    'gen_ai.request.model': 'text-embedding-3-small',
    'gen_ai.provider.name': 'openai.embedding',
    'ai.usage.tokens': 1,
  };
  const { documents } = toCall(aSpan(attributes), ORIGIN, 'a/b');
  expect(Object.keys(JSON.parse(documents.summary!).usage)).toEqual([
    'openai/text-embedding-3-small',
  ]);
});

describe('threads', () => {
  it.each(['wandb.thread_id', 'gen_ai.conversation.id', 'session.id'])('come from %s', (name) => {
    expect(mapped({ [name]: 'th' })).toMatchObject({ thread_id: 'th', turn_id: SPAN });
  });

  it('have the root of a trace as a turn, and what says that it is one', () => {
    const parentSpanId = '00f067aa0ba902b7';
    const inThread = { 'session.id': 'th' };
    expect(mapped(inThread, { parentSpanId })).toMatchObject({ thread_id: 'th', turn_id: null });
    expect(mapped({ ...inThread, 'wandb.is_turn': true }, { parentSpanId }).turn_id).toBe(SPAN);
  });
});

describe('a span that failed', () => {
  const exception = (attributes: object) => ({
    name: 'exception',
    attributes: keyValues(attributes),
  });
  const code = 2;

  it.each<[string, Partial<OtlpSpan>, string | null]>([
    ['is told by its status', { status: { code, message: 'timeout' } }, 'timeout'],
    ['without any message is an error', { status: { code } }, 'error'],
    [
      'is told by its exception',
      {
        status: { code, message: 'no' },
        events: [exception({ 'exception.type': 'E', 'exception.message': 'boom' })],
      },
      'E: boom',
    ],
    [
      'is told by the stack, of the last exception',
      {
        status: { code },
        events: [
          exception({ 'exception.stacktrace': 'first' }),
          exception({ 'exception.stacktrace': 'E: boom\n  at\0 x' }),
        ],
      },
      'E: boom\n  at x',
    ],
    [
      'is none when it went well in the end',
      { status: { code: 1 }, events: [exception({ 'exception.message': 'caught' })] },
      null,
    ],
  ])('%s', (_, overrides, expected) => {
    expect(mapped({}, overrides).exception).toBe(expected);
  });
});

it.each([
  ['more values than are worth it', `[${'{},'.repeat(200_000)}0]`],
  ['more depth than can be stored', '['.repeat(1001) + ']'.repeat(1001)],
])('leaves a text with %s a text', (_, text) => {
  expect(parseContent(text)).toEqual({ value: text, text: JSON.stringify(text) });
  expect(parseContent('[[1]]')).toEqual({ value: [[1]], text: '[[1]]' });
});

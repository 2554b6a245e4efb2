import type { KeyValue } from './otlp.js';
import { toCall } from './span-call.js';

function mapped(attributes: Record<string, string | number>): any {
  const list = Object.entries(attributes).map(([key, value]): KeyValue => ({
    key,
    value: typeof value === 'number' ? { intValue: `${value}` } : { stringValue: value },
  }));
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    startTimeUnixNano: '1767225600123456789',
    endTimeUnixNano: '1767225601000000000',
    attributes: list,
  };
  const { call, documents } = toCall(span, { resource: {}, scope: {} }, 'acme/demo');
  const parts = Object.entries(documents).map(([name, text]) => [name, JSON.parse(text)]);
  return { thread_id: call.thread_id, ...Object.fromEntries(parts) };
}

it('takes no thread from a session that Logfire has scrubbed, or that is null', () => {
  for (const id of ["[Scrubbed due to 'session']", 'null', 'None', 'undefined', ' '])
    expect(mapped({ 'session.id': id }).thread_id).toBeNull();
  expect(mapped({ 'session.id': '[Scrubbed', 'mastra.metadata.threadId': 't' }).thread_id).toBe(
    '[Scrubbed',
  );
});

it.each<[Record<string, string>, string | null]>([
  [{ 'conversation.id': 'c' }, 'c'],
  [{ 'litellm.trace_id': 'c' }, 'c'],
  [{ 'litellm.trace_id': 'chain', 'session.id': 'c' }, 'c'],
  [
    { 'litellm.trace_id': 'chain', 'metadata.requester_metadata': "{'session_id': 'c', 'n': 1}" },
    'c',
  ],
  [{ metadata: '{"user":"u", "session_id": "c"}' }, 'c'],
  [{ metadata: '{"thread_id": "t", "conversation_id": "c"}' }, 'c'],
  [{ metadata: "{'x': 1, 'thread_id': 'c'}" }, 'c'],
  [{ 'metadata.thread_id': 'c' }, 'c'],
  [{ 'gen_ai.thread.id': 'c' }, 'c'],
  [{ 'ai.telemetry.metadata.session_id': 'c' }, 'c'],
  [{ 'traceloop.association.properties.sessionId': 'c' }, 'c'],
  [{ 'traceloop.association.properties.chat_id': 'c' }, 'c'],
  [{ 'session.id': ' ', 'langfuse.session.id': 'c' }, 'c'],
  [{ metadata: 'c' }, null],
  [{ metadata: '{"session_id": 7}' }, null],
  [{ 'litellm.trace_id': '0af76519-16cd-43dd-8448-eb211c80319c' }, null], // the id of the span's trace
  [{ 'litellm.trace_id': 'r1', 'litellm.call_id': 'r1' }, null],
  [{ 'session.id': 'x'.repeat(1281), 'litellm.trace_id': 'c' }, 'c'],
  [{ 'session.id': 'é'.repeat(641) }, null],
])('of %j the thread is %s', (attributes, thread) =>
  expect(mapped(attributes).thread_id).toBe(thread),
);

it('adds the cached tokens that Claude Code tells apart from the others', () => {
  const own = {
    input_tokens: 14,
    cache_read_tokens: 4,
    cache_creation_tokens: 2,
    output_tokens: 8,
  };
  const model = 'claude-sonnet-4-5';
  const usage = {
    requests: 1,
    prompt_tokens: 20,
    completion_tokens: 8,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 2,
  };
  const ofClaudeCode = { 'span.type': 'llm_request', model };
  expect(mapped({ ...ofClaudeCode, ...own }).summary).toEqual({ usage: { [model]: usage } });
  const doubled = { ...ofClaudeCode, ...own, 'gen_ai.usage.input_tokens': 20 };
  expect(mapped(doubled).summary).toEqual({ usage: { [model]: usage } });
});

it.each([
  ["{'prompt_tokens': 20, 'details': None, 'on': True}", { prompt_tokens: 20 }],
  [
    "{'prompt_tokens': 20, 'prompt_tokens_details': {'cached_tokens': 4}}",
    { prompt_tokens: 20, cache_read_input_tokens: 4 },
  ],
])('reads usage that Python has printed: %s', (printed, usage) => {
  const attributes = { 'metadata.usage_object': printed };
  expect(mapped(attributes).summary).toEqual({ usage: { unknown: { requests: 1, ...usage } } });
});

it.each(["{'a': open('/etc/passwd')}", `{'${'a'.repeat(5000)}': 1}`, "{'a': 1", '{}'])(
  'reads no usage from %s',
  (printed) => expect(mapped({ 'metadata.usage_object': printed }).summary).toEqual({}),
);

it('completes a message without parts by the call that stands beside it', () => {
  const empty = [{ role: 'assistant', parts: [], finish_reason: 'tool_calls' }];
  const called = { 'gen_ai.completion.0.function_call.name': 'weather' };
  const said = (messages: unknown) =>
    mapped({ 'gen_ai.output.messages': JSON.stringify(messages), ...called }).output;
  expect(said(empty)).toEqual({ messages: [{ ...empty[0], function_call: { name: 'weather' } }] });
  for (const other of [
    [{ role: 'assistant', parts: [{ type: 'text', content: 'x' }] }],
    [],
    'x',
    [7],
  ])
    expect(said(other)).toEqual({ messages: other });
});

it('takes the messages that Logfire lists as events, the last of the assistant as the answer', () => {
  const event = (kind: string, content: string) => ({ 'event.name': `gen_ai.${kind}`, content });
  const list = (events: unknown[]) =>
    mapped({ 'logfire.span_type': 'span', events: JSON.stringify(events) });
  const asked = [
    event('system.message', 'a'),
    event('assistant.message', 'b'),
    event('user.message', 'c'),
  ];
  const { inputs, output, attributes } = list([...asked, event('choice', 'd')]);
  expect(inputs.messages.map(({ role }: any) => role)).toEqual(['system', 'assistant', 'user']);
  expect(output).toEqual({ messages: [{ role: 'assistant', content: 'd' }] });
  expect(attributes).not.toHaveProperty('events');
  for (const other of [[{ 'event.name': 'started' }], [7], []])
    expect(list(other).attributes.events).toBe(JSON.stringify(other));
});

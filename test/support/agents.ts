/** Makes spans of agents in OTLP/JSON. */

export type Attribute = string | number | boolean | string[];

const valueOf = (value: Attribute): object => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(valueOf) } };
};

export interface SpanParts {
  trace: number;
  id: number;
  parent?: number;
  name?: string;
  /** Start in seconds after 2026-01-01, and duration. */
  at?: number;
  seconds?: number;
  error?: string;
  ok?: boolean;
  attributes: Record<string, Attribute>;
}

const hexId = (id: number, digits: number) => id.toString(16).padStart(digits, '0');
export const traceId = (trace: number) => hexId(trace, 32);
export const spanId = (id: number) => hexId(id, 16);
const nanos = (seconds: number) => `${BigInt(Math.round((1_767_225_600 + seconds) * 1e6)) * 1000n}`;

export const agentSpan = ({
  trace,
  id,
  parent,
  name = 'span',
  at = id,
  seconds = 1,
  error,
  ok,
  attributes,
}: SpanParts) => ({
  traceId: traceId(trace),
  spanId: spanId(id),
  ...(parent !== undefined && { parentSpanId: spanId(parent) }),
  name,
  kind: 1,
  startTimeUnixNano: nanos(at),
  endTimeUnixNano: nanos(at + seconds),
  status: error ? { code: 2, message: error } : ok ? { code: 1 } : {},
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) })),
});

export const exportOf = (spans: object[]) => ({
  resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 's' }, spans }] }],
});

const said = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

/** Makes a turn: an agent calls a model, runs a tool, and calls the model again. Ids count up from `id`. */
export function aTurn({
  trace,
  id,
  conversation,
  agent = 'planner',
  version = '2',
  question = 'Where to?',
  answer = 'Rome, it is sunny',
  attributes = {},
}: {
  trace: number;
  id: number;
  conversation: string;
  agent?: string;
  version?: string;
  question?: string;
  answer?: string;
  attributes?: Record<string, Attribute>;
}): SpanParts[] {
  const common = { 'gen_ai.conversation.id': conversation };
  const chat = {
    ...common,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
  };
  return [
    {
      trace,
      id,
      name: `invoke_agent ${agent}`,
      seconds: 4,
      attributes: {
        ...common,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': agent,
        'gen_ai.agent.version': version,
        'gen_ai.conversation.name': 'Trips',
        'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: 'Be brief' }]),
        'gen_ai.input.messages': said('user', question),
      },
    },
    {
      trace,
      id: id + 1,
      parent: id,
      name: 'chat gpt-4o-mini',
      attributes: {
        ...chat,
        'gen_ai.input.messages': said('user', question),
        'gen_ai.output.messages': JSON.stringify([
          {
            role: 'assistant',
            parts: [{ type: 'tool_call', id: 'c1', name: 'lookup', arguments: '{"city":"Rome"}' }],
          },
        ]),
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 20,
        'gen_ai.usage.cache_read.input_tokens': 10,
      },
    },
    {
      trace,
      id: id + 2,
      parent: id,
      name: 'execute_tool lookup',
      ok: true,
      attributes: {
        ...common,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'lookup',
        'gen_ai.tool.call.arguments': '{"city":"Rome"}',
        'gen_ai.tool.call.result': '{"sunny":true}',
      },
    },
    {
      trace,
      id: id + 3,
      parent: id,
      name: 'chat gpt-4o-mini',
      attributes: {
        ...chat,
        ...attributes,
        'gen_ai.input.messages': said('user', question),
        'gen_ai.output.messages': said('assistant', answer),
        'gen_ai.usage.input_tokens': 150,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.response.finish_reasons': ['stop'],
      },
    },
  ];
}

import { type Attributes, attributesOf, first, firstText, indexed, parsed } from './attributes.js';
import type { Origin, Span } from './otlp.js';
import { isObject } from '../common/is-object.js';

/** A span that cannot become a call; the message says why. */
export class InvalidSpan extends Error {}

const MAX_NAME = 1024;
const MAX_EXCEPTION = 1024 * 1024;

/**
 * How an attribute is read: `json` is parsed where it is JSON, `text` stays, `mime` is parsed when the attribute beside
 * it says that it is JSON, `list` stands for attributes spelled one by one (`<name>.0.role`).
 */
type Form = 'json' | 'text' | 'mime' | 'list';

/** Attribute → member of `inputs`; null is the whole of them. What stands earlier wins. */
const INPUTS: [name: string, member: string | null, form: Form][] = [
  ['gen_ai.input.messages', 'messages', 'json'],
  ['gen_ai.system_instructions', 'system_instructions', 'json'],
  ['gen_ai.tool.definitions', 'tools', 'json'],
  ['gen_ai.tool.call.arguments', null, 'json'],
  ['gen_ai.prompt', 'messages', 'list'], // OpenLLMetry
  ['gen_ai.prompt', 'prompt', 'json'],
  ['ai.prompt.messages', 'messages', 'json'], // Vercel
  ['ai.prompt.tools', 'tools', 'json'],
  ['ai.prompt', null, 'json'],
  ['ai.toolCall.args', null, 'json'],
  ['ai.value', 'value', 'text'],
  ['ai.values', 'values', 'text'],
  ['llm.input_messages', 'messages', 'list'], // OpenInference
  ['input.value', null, 'mime'],
  ['traceloop.entity.input', null, 'json'],
];

/** Attribute → member of `output`. */
const OUTPUTS: typeof INPUTS = [
  ['gen_ai.output.messages', 'messages', 'json'],
  ['gen_ai.tool.call.result', null, 'json'],
  ['gen_ai.completion', 'messages', 'list'],
  ['gen_ai.completion', 'completion', 'json'],
  ['ai.response.text', 'text', 'text'],
  ['ai.response.object', 'object', 'json'],
  ['ai.response.toolCalls', 'tool_calls', 'json'],
  ['ai.response.reasoning', 'reasoning', 'text'],
  ['ai.toolCall.result', null, 'json'],
  ['ai.embedding', 'embedding', 'json'],
  ['ai.embeddings', 'embeddings', 'json'],
  ['llm.output_messages', 'messages', 'list'],
  ['output.value', null, 'mime'],
  ['traceloop.entity.output', null, 'json'],
];

const MODEL = [
  'gen_ai.response.model',
  'ai.response.model',
  'gen_ai.request.model',
  'llm.model_name',
  'embedding.model_name',
  'ai.model.id',
];

/** Prompt tokens are all that were read, cached ones among them, as the conventions define them. */
const USAGE: Record<string, string[]> = {
  prompt_tokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'ai.usage.tokens',
  ],
  completion_tokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
  ],
  total_tokens: [
    'gen_ai.usage.total_tokens',
    'llm.usage.total_tokens',
    'llm.token_count.total',
    'ai.usage.totalTokens',
  ],
  cache_read_input_tokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'llm.token_count.prompt_details.cache_read',
    'ai.usage.cachedInputTokens',
  ],
  cache_creation_input_tokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
  ],
};

const THREAD = [
  'wandb.thread_id',
  'gen_ai.conversation.id',
  'session.id',
  'ai.telemetry.metadata.threadId',
  'ai.telemetry.metadata.sessionId',
];

/**
 * The call that a span is, without `otel_dump`. Contents move from the attributes to `inputs` and `output`; all other
 * attributes stay under their own names. A span without an end is a call that runs.
 * @throws InvalidSpan
 */
export function callOf(span: Span, { resource, scope }: Origin, projectId: string) {
  const own = attributesOf(span.attributes);
  const contents: Attributes = new Map([...contentsOfEvents(span), ...own]);
  const inputs = contentOf(contents, INPUTS, 'input');
  const output = contentOf(contents, OUTPUTS, 'output');
  const attributes = {
    resource: Object.fromEntries(attributesOf(resource.attributes)),
    scope: { name: scope.name, version: scope.version },
    ...Object.fromEntries([...own].filter(([name]) => contents.has(name))),
  };
  const id = idOf(span.spanId, 16, 'spanId');
  const parentId = span.parentSpanId ? idOf(span.parentSpanId, 16, 'parentSpanId') : null;
  const thread = firstText(own, THREAD);
  const isTurn = thread !== undefined && (parentId === null || own.get('wandb.is_turn') === true);
  return {
    project_id: projectId,
    id,
    trace_id: idOf(span.traceId, 32, 'traceId'),
    parent_id: parentId,
    op_name: Array.from(span.name || 'span')
      .slice(0, MAX_NAME)
      .join(''),
    display_name: firstText(own, ['wandb.display_name']) ?? null,
    started_at: timeOf(span.startTimeUnixNano, 'startTimeUnixNano'),
    thread_id: thread ?? null,
    turn_id: isTurn ? id : null,
    attributes,
    inputs,
    ...(isSet(span.endTimeUnixNano) && {
      ended_at: timeOf(span.endTimeUnixNano, 'endTimeUnixNano'),
      output: onlyValue(output, 'output'),
      exception: exceptionOf(span),
      summary: summaryOf(own),
    }),
  };
}

const isSet = (nanos: string | undefined) => nanos !== undefined && nanos !== '0';

/** Contents that older instrumentations put into events. */
function contentsOfEvents({ events = [] }: Span): [string, unknown][] {
  return events
    .filter(({ name }) => name?.startsWith('gen_ai.'))
    .flatMap(({ attributes }) => [...attributesOf(attributes)]);
}

/** Takes what the table names out of the attributes. A whole that is no object becomes the member `whole`. */
function contentOf(attributes: Attributes, table: typeof INPUTS, whole: string): object {
  const content = new Map<string, unknown>();
  for (const [name, member, form] of table) {
    const value = taken(attributes, name, form);
    if (value === undefined) continue;
    const members =
      member === null && isObject(value)
        ? Object.entries(value)
        : [[member ?? whole, value] as const];
    for (const [key, part] of members)
      if (!content.has(key) || (form === 'mime' && isWhole(key, part))) content.set(key, part);
  }
  return Object.fromEntries(content);
}

/** A body as it was sent is whole; spelled as attributes, messages lose parts such as the `type` of tool calls. */
const isWhole = (member: string, value: unknown) =>
  member === 'messages' &&
  Array.isArray(value) &&
  value.every((message) => typeof (message as { role?: unknown } | null)?.role === 'string');

function taken(attributes: Attributes, name: string, form: Form): unknown {
  if (form === 'list') {
    const list = indexed(attributes, name);
    if (list)
      for (const key of attributes.keys()) if (key.startsWith(`${name}.`)) attributes.delete(key);
    return list;
  }
  const value = attributes.get(name);
  attributes.delete(name);
  if (form === 'text') return value;
  if (form === 'json') return parsed(value);
  const mime = name.replace(/value$/, 'mime_type');
  return attributes.get(mime) === 'application/json' ? parsed(value) : value;
}

/** An output that is one value is that value, an empty one null. */
function onlyValue(content: object, name: string): unknown {
  const entries = Object.entries(content);
  if (entries.length === 0) return null;
  return entries.length === 1 && entries[0]![0] === name ? entries[0]![1] : content;
}

function summaryOf(attributes: Attributes): object {
  const counts = Object.entries(USAGE).flatMap(([member, names]) => {
    const count = Number(first(attributes, names));
    return Number.isSafeInteger(count) && count >= 0 ? [[member, count] as const] : [];
  });
  if (counts.length === 0) return {};
  const model = firstText(attributes, MODEL) ?? 'unknown';
  return { usage: { [model]: { requests: 1, ...Object.fromEntries(counts) } } };
}

const ERROR = 2; // STATUS_CODE_ERROR

/** Of a span that failed: its exception event, or what its status says. */
function exceptionOf({ status, events = [] }: Span): string | null {
  if (status?.code !== ERROR) return null;
  const event = attributesOf(events.findLast(({ name }) => name === 'exception')?.attributes);
  const named = ['exception.type', 'exception.message'].flatMap(
    (name) => firstText(event, [name]) ?? [],
  );
  const text = firstText(event, ['exception.stacktrace']) ?? named.join(': ');
  return (text || status.message || 'error').replaceAll('\0', '').slice(0, MAX_EXCEPTION);
}

function idOf(hex: string | undefined, length: number, name: string): string {
  if (hex?.length !== length || /^0+$/.test(hex))
    throw new InvalidSpan(`${name} must be ${length / 2} bytes that are not all zero`);
  return hex;
}

/** Nanoseconds since 1970 as ISO 8601 with microseconds; finer ones are cut off. */
function timeOf(nanos: string | undefined, name: string): string {
  if (!isSet(nanos)) throw new InvalidSpan(`${name} is required`);
  const micros = BigInt(nanos!) / 1000n;
  const seconds = new Date(Number(micros / 1_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000n).padStart(6, '0')}Z`;
}

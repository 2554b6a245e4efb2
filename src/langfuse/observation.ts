import type { StoredCall } from '../calls/calls.service.js';
import { isObject } from '../common/is-object.js';
import { memberSpans } from '../common/json-text.js';

/** One event of an ingestion request. */
export interface Event {
  type: string;
  timestamp: string;
  body: Record<string, unknown>;
  /** The body as it was sent. */
  text: string;
}

/** An event that cannot become a call; the message says why. */
export class InvalidEvent extends Error {}

const OBSERVATION =
  /^(span|generation|event|agent|tool|chain|retriever|evaluator|embedding|guardrail|observation)-(create|update)$/;

export const isTrace = ({ type }: Event) => type === 'trace-create';
export const isObservation = ({ type }: Event) => OBSERVATION.test(type);

/** What becomes a field, an input or an output of the call; all else is an attribute under its own name. */
const FIELDS = new Set([
  'id',
  'traceId',
  'parentObservationId',
  'name',
  'startTime',
  'endTime',
  'timestamp',
  'input',
  'output',
  'sessionId',
  'usage',
  'usageDetails',
]);

const MAX_NAME = 1024;

/**
 * The call after an event: a trace is its root, an observation lies below its parent, else below the trace. What an event leaves
 * out or says is null stays as it was.
 * @throws InvalidEvent
 */
export function afterEvent(
  before: StoredCall | undefined,
  event: Event,
  projectId: string,
): StoredCall {
  const { body, text } = event;
  const id = textOf(body, 'id');
  if (id === undefined) throw new InvalidEvent('body.id is required');
  const members = memberSpans(text, 0);
  const raw = (name: string) => {
    const span = members.get(name);
    const value = span && text.slice(...span);
    return value === 'null' ? undefined : value;
  };
  const attributes = attributesAfter(before?.documents.attributes, members, text);
  const input = raw('input');
  const usage = usageOf(body, attributes);
  return {
    call: {
      ...before?.call,
      ...(isTrace(event) ? traceFields(before, event, id) : observationFields(before, event, id)),
      project_id: projectId,
      id,
      ...failureOf(attributes),
    },
    documents: {
      ...before?.documents,
      attributes: objectOf(attributes),
      ...(input !== undefined && { inputs: inputsOf(input, body['input']) }),
      ...(raw('output') !== undefined && { output: raw('output')! }),
      ...(usage && { summary: JSON.stringify(usage) }),
    },
  };
}

const textOf = (body: Record<string, unknown>, name: string): string | undefined => {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const nameOf = (before: StoredCall | undefined, { type, body }: Event) =>
  textOf(body, 'name')?.slice(0, MAX_NAME) ?? before?.call['op_name'] ?? type.split('-', 1)[0]!;

/** A trace has no end of its own: it ends with the last that is said of it. */
function traceFields(before: StoredCall | undefined, event: Event, id: string) {
  const { body, timestamp } = event;
  const thread = textOf(body, 'sessionId') ?? before?.call['thread_id'] ?? null;
  const ended = before?.call['ended_at'];
  return {
    op_name: nameOf(before, event),
    trace_id: id,
    parent_id: null,
    started_at: before?.call['started_at'] ?? textOf(body, 'timestamp') ?? timestamp,
    ended_at: ended && Date.parse(ended) > Date.parse(timestamp) ? ended : timestamp,
    thread_id: thread,
    turn_id: thread === null ? null : id,
  };
}

function observationFields(before: StoredCall | undefined, event: Event, id: string) {
  const { type, body, timestamp } = event;
  const said = (member: string, field: string) => textOf(body, member) ?? before?.call[field];
  const traceId = said('traceId', 'trace_id') ?? id;
  const started = said('startTime', 'started_at') ?? timestamp;
  const ended = said('endTime', 'ended_at') ?? (type === 'event-create' ? started : undefined);
  const above = traceId === id ? null : traceId;
  return {
    op_name: nameOf(before, event),
    trace_id: traceId,
    parent_id: said('parentObservationId', 'parent_id') ?? above,
    started_at: started,
    ...(ended && { ended_at: ended }),
  };
}

/** Texts by name. Of metadata the members are merged, as Langfuse does. */
function attributesAfter(
  before: string | null | undefined,
  members: ReturnType<typeof memberSpans>,
  text: string,
): Map<string, string> {
  const attributes = textsOf(before ?? '{}');
  for (const [name, span] of members) {
    const value = text.slice(...span);
    if (FIELDS.has(name) || value === 'null') continue;
    const known = attributes.get(name);
    if (name === 'metadata' && known?.startsWith('{') && value.startsWith('{'))
      attributes.set(name, objectOf(new Map([...textsOf(known), ...textsOf(value)])));
    else attributes.set(name, value);
  }
  return attributes;
}

const textsOf = (object: string): Map<string, string> =>
  new Map([...memberSpans(object, 0)].map(([name, span]) => [name, object.slice(...span)]));

const objectOf = (members: Map<string, string>): string =>
  `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

function failureOf(attributes: Map<string, string>) {
  if (attributes.get('level') !== '"ERROR"') return {};
  const message: unknown = JSON.parse(attributes.get('statusMessage') ?? '""');
  return { exception: typeof message === 'string' && message !== '' ? message : 'error' };
}

/** An object is the inputs, a list of messages their member `messages`, any other value their member `input`. */
function inputsOf(text: string, value: unknown): string {
  if (isObject(value)) return text;
  const isMessages =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => isObject(item) && typeof item['role'] === 'string');
  return `{"${isMessages ? 'messages' : 'input'}":${text}}`;
}

/** Names of counts, in the objects of all versions of the SDKs. */
const COUNTS: Record<string, readonly string[]> = {
  prompt_tokens: ['input', 'promptTokens', 'prompt_tokens', 'input_tokens'],
  completion_tokens: ['output', 'completionTokens', 'completion_tokens', 'output_tokens'],
  total_tokens: ['total', 'totalTokens', 'total_tokens'],
  cache_read_input_tokens: [
    'input_cached_tokens',
    'cache_read_input_tokens',
    'input_cache_read',
    'prompt_details.cache_read',
  ],
  cache_creation_input_tokens: ['input_cache_creation', 'cache_creation_input_tokens'],
  reasoning_tokens: [
    'output_reasoning_tokens',
    'reasoning_tokens',
    'output_reasoning',
    'completion_details.reasoning',
  ],
};

function usageOf(body: Record<string, unknown>, attributes: Map<string, string>) {
  const counts = {
    ...(body['usage'] as object | null),
    ...(body['usageDetails'] as object | null),
  };
  const usage: Record<string, number> = {};
  for (const [member, names] of Object.entries(COUNTS)) {
    const count = names
      .map((name) => (counts as Record<string, unknown>)[name])
      .find((value) => Number.isSafeInteger(value) && (value as number) >= 0);
    if (count !== undefined) usage[member] = count as number;
  }
  if (Object.keys(usage).length === 0) return undefined;
  const model: unknown = JSON.parse(attributes.get('model') ?? 'null');
  const name = typeof model === 'string' && model !== '' ? model : 'unknown';
  return { usage: { [name]: { requests: 1, ...usage } } };
}

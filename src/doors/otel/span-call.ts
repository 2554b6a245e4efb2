import { type Attributes, readAttributes, type Content, parseContent } from './attributes.js';
import { readSpanContent, type SpanContent, WHOLE_MEMBERS } from './span-content.js';
import { isThreadId } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';
import { agentOf } from '../../tracing/conventions/agent-columns.js';
import { type CallSource, ownSource } from '../../tracing/conventions/call-source.js';
import {
  idOfSum,
  idOfTwin,
  MADE_ID_PREFIX,
  responseIdOf,
} from '../../tracing/conventions/response-id.js';
import type { UsageEntry } from '../../tracing/usage/usage-counts.js';
import { reportedUsage } from '../../tracing/usage/usage.js';
import { pricedName } from '../../tracing/pricing/builtin-prices.js';
import type { Origin, OtlpSpan } from './otlp.js';

export class InvalidSpan extends Error {}

const MAX_NAME = 1024;

/** Free-form members as JSON texts. `output` and `summary` exist when the span has ended. */
interface SpanDocuments {
  attributes: string;
  inputs: string;
  output?: string;
  summary?: string;
}

/**
 * Converts a span to a call, without `otel_dump`. Contents move from the attributes to `inputs` and `output`; all other
 * attributes keep their names. A span without an end becomes a running call.
 * @throws InvalidSpan
 */
export function toCall(span: OtlpSpan, origin: Origin, projectId: string) {
  const own = readAttributes(span.attributes);
  const found = readSpanContent(own, span);
  const { values } = found;
  const isPending = own.get('logfire.span_type') === 'pending_span';
  const { id, parentId } = idsOf(span, isPending ? pendingSpanIds(span, own) : undefined);
  const thread = threadOf(values, own, span.traceId);
  const isAlwaysTurn = thread !== null && values.get('turn')?.[0] === true;
  const isTurn = isAlwaysTurn || (thread !== null && parentId === null);
  const ended = isPending ? null : endOf(span, values);
  const record = accountingKind(own, span);
  const isOfOthers = isUsageSum(found, span, record);
  const summary = makeSummary(found, isOfOthers);
  const call = {
    project_id: projectId,
    id,
    trace_id: checkedId(span.traceId, 32, 'traceId'),
    parent_id: parentId,
    op_name: opName(span.name),
    display_name: firstText(values.get('display_name')) ?? null,
    started_at: toTimestamp(span.startTimeUnixNano, 'startTimeUnixNano'),
    thread_id: thread,
    turn_id: isTurn ? id : null,
    // the parsed summary is passed along with its text, so that it is not parsed again
    ...(ended && { ...ended, summary }),
  };
  const documents: SpanDocuments = {
    attributes: attributesText(own, found.taken, origin),
    inputs: objectText(found.inputs),
    ...(ended && {
      output: outputText(found.output),
      summary: JSON.stringify(summary),
    }),
  };
  const agent = agentOf((name) => own.get(name), span.name);
  const findId = () => {
    if (!summary.usage) return firstText(found.values.get('response')) ?? null;
    if (isReportedTwice(found, own, record)) return idOfPair(span, summary.usage);
    return isOfOthers ? idOfSum(id) : (findResponse(found) ?? twinResponseId(origin, parentId, id));
  };
  const source = spanSource(call, own, origin);
  return { call, documents, responseId: findId(), agent, source, movesTurn: !isAlwaysTurn };
}

function spanSource(call: SourcedCall, own: Attributes, origin: Origin): CallSource | null {
  let resource = resources.get(origin);
  if (!resource) {
    resource = Object.fromEntries(readAttributes(origin.resource.attributes));
    resources.set(origin, resource);
  }
  const isTop = call.parent_id === null;
  return ownSource({ opName: call.op_name, isTop, attributes: own, resource });
}

type SourcedCall = { op_name: string; parent_id: string | null };

/** Parsed attributes of resources, which many spans share. */
const resources = new WeakMap<Origin, object>();

/** Returns the end of the call and its exception; null while the call is running. */
function endOf(span: OtlpSpan, values: SpanContent['values']) {
  if (!isSet(span.endTimeUnixNano)) return null;
  return {
    ended_at: toTimestamp(span.endTimeUnixNano, 'endTimeUnixNano'),
    exception: findException(span, values),
  };
}

/** Returns the ids of the call and its parent. A pending span has those of the span that it announces. */
function idsOf(span: OtlpSpan, real: [id: string, parentId: string] | undefined) {
  const [spanId, parentSpanId] = real ?? [span.spanId, span.parentSpanId];
  const id = checkedId(spanId, 16, 'spanId');
  return {
    id,
    parentId: isZeroId(parentSpanId) ? null : checkedId(parentSpanId, 16, 'parentSpanId'),
  };
}

/**
 * Logfire (4.41, `PendingSpanProcessor`) announces a starting span by a child span that ends at once. The child has the
 * same data, so it is stored as the announced span, still running. Returns the ids of the announced span and of its
 * parent.
 */
function pendingSpanIds(
  span: OtlpSpan,
  own: Attributes,
): [id: string, parentId: string] | undefined {
  const parentId = own.get('logfire.pending_parent_id');
  if (!span.parentSpanId || typeof parentId !== 'string') return undefined;
  return [span.parentSpanId, isHexId(parentId, 16) ? parentId : ''];
}

function findResponse({ values, output }: SpanContent): string | null {
  const named = firstText(values.get('response'));
  if (named !== undefined) return named;
  const whole = output.size === 1 ? output.get(WHOLE_MEMBERS.output) : undefined;
  const members = [...output].map(([name, { value }]) => [name, value] as const);
  return responseIdOf(whole ? whole.value : Object.fromEntries(members));
}

/** Returns true when AG2 reports the request in a second span too: see `idOfPair`. */
function isReportedTwice(found: SpanContent, own: Attributes, record: string | undefined): boolean {
  const isOfModel = own.has(AG2_TYPE) && operationsOf(found).includes('llm');
  return record === MODEL_CALL || (isOfModel && !found.values.has('response'));
}

/**
 * Returns a generated response id for the span of Langfuse's client for OpenAI (`langfuse.openai`, 3 to 5). This client
 * reports no id. Its span covers the time of another instrumentation's span, but is its sibling and not its parent.
 */
const twinResponseId = ({ scope }: Origin, parentId: string | null, id: string): string | null =>
  parentId !== null && scope.name === 'langfuse-sdk' ? idOfTwin(parentId, id) : null;

/**
 * AG2 1.2 reports each request in two spans: one of type `llm`, and a sibling from its accounting (`record_usage
 * model_call`). Neither has the id of the response, so both get an id of the values that they share.
 */
function idOfPair({ traceId, parentSpanId = '' }: OtlpSpan, usage: object): string {
  const [counts] = Object.values(usage) as [Record<string, number>];
  const { prompt_tokens = 0, completion_tokens = 0 } = counts;
  return `${MADE_ID_PREFIX}ag2/${traceId}/${parentSpanId}/${prompt_tokens}/${completion_tokens}`;
}

const isSet = (nanos: string | number | undefined) => nanos !== undefined && Number(nanos) !== 0;

function opName(name: string | undefined): string {
  if (!name) return 'span';
  return name.length <= MAX_NAME
    ? name
    : Array.from(name.slice(0, 2 * MAX_NAME))
        .slice(0, MAX_NAME)
        .join('');
}

const quotedNames = new Map<string, string>();

/** Returns `"name":` from a cache, because few attribute names are in use. */
function quoted(name: string): string {
  const known = quotedNames.get(name);
  if (known) return known;
  const text = `${JSON.stringify(name)}:`;
  if (name.length <= 64 && quotedNames.size < 2000) quotedNames.set(name, text);
  return text;
}

function objectText(members: Map<string, Content>): string {
  let text = '';
  for (const [name, part] of members) text += `${text ? ',' : '{'}${quoted(name)}${part.text}`;
  return text ? `${text}}` : '{}';
}

/** Returns a single whole value as it is, several members as an object, and null without members. */
const outputText = (members: Map<string, Content>): string =>
  members.size === 0
    ? 'null'
    : members.size === 1 && members.has(WHOLE_MEMBERS.output)
      ? members.get(WHOLE_MEMBERS.output)!.text
      : objectText(members);

/**
 * Returns the attributes that were not moved, after resource and scope. An attribute of the span with one of these
 * names replaces them.
 */
function attributesText(own: Attributes, taken: Set<string>, origin: Origin): string {
  let text = own.has('resource') || own.has('scope') ? '' : originText(origin);
  if (!text) {
    const { resource, scope } = describeOrigin(origin);
    const parts = { resource, scope, ...Object.fromEntries(own) };
    return JSON.stringify(
      Object.fromEntries(Object.entries(parts).filter(([name]) => !taken.has(name))),
    );
  }
  for (const [name, value] of own)
    if (!taken.has(name)) text += `,${quoted(name)}${JSON.stringify(value)}`;
  return `${text}}`;
}

export const describeOrigin = ({ resource, scope }: Origin) => ({
  resource: Object.fromEntries(readAttributes(resource.attributes)),
  scope: { name: scope.name, version: scope.version },
});

const originTexts = new WeakMap<Origin, string>();

/** Returns `{"resource":…,"scope":…`, which is the same for all spans of an origin. */
function originText(origin: Origin): string {
  let text = originTexts.get(origin);
  if (!text) originTexts.set(origin, (text = JSON.stringify(describeOrigin(origin)).slice(0, -1)));
  return text;
}

/** Returns the first value that is a number or a non-empty text, as text. */
function firstText(values: readonly unknown[] = []): string | undefined {
  const value = values.find(
    (one) => typeof one === 'number' || (typeof one === 'string' && one !== ''),
  );
  return value === undefined ? undefined : `${value as string | number}`;
}

/**
 * Rejects session names that Logfire replaced because they looked like secrets: all of them would become one thread.
 * Names that are too long for a thread are rejected too.
 */
const isThreadName = (value: unknown): boolean =>
  typeof value !== 'string' ||
  (!/^\s*(?:null|None|undefined)?$/.test(value) &&
    !value.startsWith('[Scrubbed due to ') &&
    isThreadId(value));

/**
 * Returns the thread of a span. LiteLLM generates a `chain` for a request that names none, from ids that the request
 * already has. Such a chain is ignored.
 */
function threadOf(values: SpanContent['values'], own: Attributes, traceId = ''): string | null {
  const isOwn = (value: unknown) =>
    String(value).replaceAll('-', '') === traceId || value === own.get('litellm.call_id');
  return (
    firstText(
      [
        ...(values.get('thread') ?? []),
        ...(values.get('metadata') ?? []).map(sessionInMetadata),
        ...(values.get('chain') ?? []).filter((value) => !isOwn(value)),
      ].filter(isThreadName),
    ) ?? null
  );
}

/**
 * Members of metadata that name a session, in order of precedence: LiteLLM 1.110, and
 * openinference-instrumentation-langchain 0.1.
 */
const SESSIONS = ['session_id', 'litellm_session_id', 'conversation_id', 'thread_id', 'sessionId'];
const PRINTED = SESSIONS.map(
  (name) => new RegExp(`["']${name}["']: ?(["'])([^"'\\\\]{1,1280})\\1`),
);

/** Returns the session that metadata names. Metadata is an object, or an object that JSON or Python printed. */
function sessionInMetadata(metadata: unknown): unknown {
  const names =
    typeof metadata === 'string'
      ? PRINTED.map((printed) => printed.exec(metadata)?.[2])
      : SESSIONS.map((name) => (isObject(metadata) ? metadata[name] : undefined));
  return names.find((name) => name !== undefined && name !== null);
}

interface Summary {
  usage?: object;
}

/**
 * A sum without any of these counts is ignored: steps of Vercel's SDK 7 report only the reasoning tokens of their chat.
 */
const COUNTS = [
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'unit',
];

function makeSummary(found: SpanContent, isOfOthers: boolean): Summary {
  const { values } = found;
  const usage = countTokens(found, isOfOthers);
  const isEmpty = isOfOthers
    ? !COUNTS.some((member) => member in usage)
    : Object.keys(usage).length === 0;
  if (isEmpty || values.has('repeated')) return {};
  const model = firstText(values.get('model'));
  const name = model ? pricedName(model, firstText(values.get('provider'))) : 'unknown';
  return { usage: { [name]: { requests: isOfOthers ? 0 : 1, ...usage } } };
}

const [USAGE, ADK_RESPONSE] = ['usage.', 'gcp.vertex.agent.llm_response'] as const;

/** Merges the reported counts. Single attributes take precedence over an object of counts. */
function countTokens(found: SpanContent, isOfOthers: boolean): Record<string, unknown> {
  const { values } = found;
  const object = values.get('usage')?.map(usageObject).find(isObject);
  const own: Record<string, unknown> = {};
  for (const [target, list] of values) {
    if (!target.startsWith(USAGE)) continue;
    const value = list.find((value) => value !== null && value !== '');
    if (value !== undefined) own[target.slice(USAGE.length)] = countOf(value);
  }
  const raw = isOfOthers ? undefined : rawUsage(found);
  if (!object && !raw) return reportedUsage(own);
  const told = raw ? mergeRawUsage(own, raw) : own;
  return reportedUsage({ ...(object && reportedUsage(object)), ...told });
}

/**
 * Returns the provider's own usage, which SDKs pass on in addition to their counts. Vercel's SDK before 6 counts
 * Anthropic's cached tokens outside of the input, and reports cache writes only here. Google ADK before 2.3 reports
 * thoughts and cached tokens only here.
 */
function rawUsage({ values, output, taken }: SpanContent): UsageEntry | undefined {
  if (taken.has(ADK_RESPONSE)) {
    const usage = output.get('usage_metadata')?.value;
    return isObject(usage) ? usage : undefined;
  }
  const metadata = parseContent(values.get('usage_metadata')?.[0]).value;
  if (!isObject(metadata)) return undefined;
  for (const one of Object.values(metadata)) {
    if (!isObject(one)) continue;
    const usage = one['usage'] ?? one['usageMetadata'] ?? one;
    if (isObject(usage) && Object.keys(reportedUsage(usage)).length > 0) return usage;
  }
  return undefined;
}

/**
 * Adds the provider's usage. If it reports prompt tokens, its total replaces the SDK's. Its completion tokens may be
 * those of the beginning of a stream, so the SDK's take precedence.
 */
function mergeRawUsage(own: Record<string, unknown>, raw: UsageEntry): Record<string, unknown> {
  const { completion_tokens: completion, ...reported } = reportedUsage(raw);
  if (reported['prompt_tokens'] === undefined) return { ...raw, ...own };
  const { total_tokens: _, prompt_tokens: __, ...others } = own;
  return { completion_tokens: completion, ...others, ...reported };
}

/** Some exporters send a number as a text. */
const countOf = (value: unknown): unknown =>
  typeof value !== 'string'
    ? value
    : /^\d{1,16}(\.\d{1,16})?$/.test(value)
      ? Number(value)
      : parseContent(value).value;

/** Matches a dict as Python prints it: simple names and numbers, which become JSON by replacing the quotes. */
const PYTHON_DICT = /^\{'[\w\s{}:,'.-]{0,4000}\}$/;

const usageObject = (value: unknown): unknown =>
  parseContent(
    typeof value === 'string' && PYTHON_DICT.test(value)
      ? value.replaceAll("'", '"').replaceAll(/\b(None|True|False)\b/g, 'null')
      : value,
  ).value;

const INTERNAL = 1; // SPAN_KIND_INTERNAL

const operationsOf = ({ values }: SpanContent): string[] =>
  (values.get('operation') ?? []).map((operation) => String(operation).toLowerCase());

/** Operations that are requests to models, whatever other operations the span names. */
const MODEL_OPERATION =
  /^(?:llm|chat|chat_model|text_completion|completion|generate_content|generation|embeddings?|reranker|ai\.[^.]+\.do[a-z]+)$/;
/**
 * Operations that wrap requests: kinds of OpenInference, OpenLLMetry, Langfuse, LangSmith, MLflow and AG2, and Vercel's
 * operations.
 */
const WRAPPER_OPERATION =
  /^(?:agent|chain|workflow|task|tool|span|prompt|parser|guardrail|evaluator|conversation|invoke_workflow|agent_step|execute_tool|ai\.[^.]+)$/;

/**
 * Returns true when the usage of a span sums up that of spans below or beside it. This holds for Vercel's operations
 * above the requests, and for agents, steps, tools and workflows in the process. A remote agent counts as one request.
 */
function isUsageSum(found: SpanContent, span: OtlpSpan, record: string | undefined): boolean {
  if (record !== undefined) return record === MODEL_CALL;
  const isInternal = !span.kind || span.kind === INTERNAL;
  const operations = operationsOf(found);
  return (
    !operations.some((operation) => MODEL_OPERATION.test(operation)) &&
    operations.some(
      (operation) =>
        WRAPPER_OPERATION.test(operation) || (isInternal && operation === 'invoke_agent'),
    )
  );
}

const [AG2_TYPE, AG2_KIND, MODEL_CALL] = ['ag2.span.type', 'ag2.usage.kind', 'model_call'] as const;
const USAGE_RECORD = /^record_usage(?: (\w+))?$/;

/**
 * Returns the subject of a span of AG2's accounting. For `model_call`, another span reports the same request; any other
 * subject is reported only here.
 */
function accountingKind(own: Attributes, { name = '' }: OtlpSpan): string | undefined {
  const [record, kind = MODEL_CALL] = USAGE_RECORD.exec(name) ?? [];
  const said = own.get(AG2_KIND);
  if (record === undefined && said === undefined) return undefined;
  return typeof said === 'string' ? said : kind;
}

const ERROR = 2; // STATUS_CODE_ERROR

/** Returns the exception of a failed span: its exception event, or the message of its status. */
function findException(
  { status = {}, events = [] }: OtlpSpan,
  values: SpanContent['values'],
): string | null {
  const message = firstText([status.message, ...(values.get('error') ?? [])]);
  if (status.code !== ERROR && values.get('error_level')?.[0] !== 'ERROR') return null;
  const event = readAttributes(events.findLast(({ name }) => name === 'exception')?.attributes);
  const named = ['exception.type', 'exception.message'].flatMap(
    (name) => firstText([event.get(name)]) ?? [],
  );
  const text = firstText([event.get('exception.stacktrace')]) ?? named.join(': ');
  return (text || message || 'error').replaceAll('\0', '');
}

/** Returns true when a hexadecimal id has `length` digits and not only zeros. */
export const isHexId = (hex: string, length: number): boolean =>
  hex.length === length && !/^0+$/.test(hex);

/**
 * Some exporters send zeros for a missing parent. OTLP calls zeros an invalid id, and ProtoJSON may omit the member.
 */
const isZeroId = (hex: string | undefined): boolean => !hex || /^0+$/.test(hex);

function checkedId(hex: string | undefined, length: number, name: string): string {
  if (hex === undefined || !isHexId(hex, length))
    throw new InvalidSpan(`${name} must be ${length / 2} bytes that are not all zero`);
  return hex;
}

/** Converts nanoseconds since 1970 to ISO 8601 with microseconds, cutting off the rest. */
export function toTimestamp(nanos: string | number | undefined, name: string): string {
  if (!isSet(nanos)) throw new InvalidSpan(`${name} is required`);
  const digits = (typeof nanos === 'number' ? BigInt(nanos).toString() : nanos!).padStart(9, '0');
  return `${printSecond(digits.slice(0, -9))}.${digits.slice(-9, -3)}Z`;
}

/** The last printed second. Spans of one request start at about the same time. */
let second = { digits: '', text: '' };

function printSecond(digits: string): string {
  if (digits !== second.digits)
    second = { digits, text: new Date(Number(digits) * 1000).toISOString().slice(0, 19) };
  return second.text;
}

import type { StoredCall, WholeCall } from '../../tracing/calls/calls.service.js';
import { agentOf } from '../../tracing/conventions/agent-columns.js';
import { isEmptyId } from '../../tracing/conventions/empty-id.js';
import { idOfSum } from '../../tracing/conventions/response-id.js';
import { isDateTime } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';
import { memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { type UsageEntry, UsageCounts } from '../../tracing/usage/usage-counts.js';
import { reportedUsage } from '../../tracing/usage/usage.js';
import { DERIVED, type EventOrder, EventTimes, microsecondsAt, orderOf } from './event-times.js';

export interface IngestionEvent {
  type: string;
  timestamp: string;
  body: Record<string, unknown>;
  /** The body as it was sent. */
  text: string;
}

export class InvalidEvent extends Error {}

const OBSERVATION =
  /^(span|generation|event|agent|tool|chain|retriever|reranker|evaluator|embedding|guardrail|observation)-(create|update)$/;

export const isTrace = ({ type }: IngestionEvent) => type === 'trace-create';
export const isObservation = ({ type }: IngestionEvent) => OBSERVATION.test(type);

/** Members that become a field, the inputs or the output of the call. Others become attributes with the same name. */
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

/** Members that keep the value of the earliest event, as Langfuse does. */
const FIXED = new Set(['traceId', 'startTime', 'timestamp', 'environment']);

/** Members with two spellings. The later event counts, whichever spelling it uses. */
const MEMBER_ALIASES: Record<string, string> = { usageDetails: 'usage' };

/** Attributes from which other values of the call are derived. */
const READ_ATTRIBUTES = ['level', 'statusMessage', 'model'];

type CallFields = Record<string, unknown>;
/** Texts of the attributes. `metadata` may be a map of the texts of its members, because events merge them. */
type Attributes = Map<string, string | Map<string, string>>;

/**
 * A call that is made from Langfuse events. A Langfuse trace becomes the root call. An observation is stored below its
 * parent, or below the root call if it names none. An event changes no member that it omits or sets to null, and none
 * that an event with a later time has set. The cost of an event depends only on its own length.
 */
export class Observation {
  private call: CallFields;
  private readonly documents: StoredCall['documents'];
  private readonly attributes: Attributes;
  private readonly times: EventTimes;
  /** The usage within the summary. It is extracted once, because the summary may be large. */
  private ownUsage: { summary: unknown; usage: string | undefined } | undefined;
  /** Parsed values of `READ_ATTRIBUTES` and of the type. */
  private readonly said: Record<string, unknown> = {};

  constructor(
    private readonly projectId: string,
    private readonly before?: StoredCall,
  ) {
    this.call = before?.call ?? {};
    this.documents = { ...before?.documents };
    this.attributes = memberTexts(before?.documents.attributes ?? '{}');
    this.times = new EventTimes(before?.eventTimes);
    for (const name of [...READ_ATTRIBUTES, 'type'])
      this.said[name] = JSON.parse((this.attributes.get(name) as string | undefined) ?? 'null');
  }

  /** @throws InvalidEvent */
  apply(event: IngestionEvent): void {
    const { text } = event;
    const id = readText(event.body, 'id');
    if (id === undefined) throw new InvalidEvent('body.id is required');
    assertTimes(event.body);
    const order = orderOf(event.timestamp, event.type.endsWith('-update'));
    const members = new Map([...memberTexts(text)].filter(([, value]) => value !== 'null'));
    if (!isTrace(event)) {
      members.delete('type');
      this.setType(event, order);
    }
    const body = this.takeMembers(members, event.body, order);
    this.setAttributes(members, order);
    const model = this.said['model'];
    for (const name of READ_ATTRIBUTES) this.said[name] = body[name] ?? this.said[name];
    this.call = {
      ...this.call,
      ...(isTrace(event)
        ? this.traceFields(event, body, id)
        : this.observationFields(event, body, id)),
      project_id: this.projectId,
      id,
      exception: this.exception,
    };
    this.setDocuments(members, body, model);
  }

  get stored(): WholeCall {
    const { call, documents, said } = this;
    const { type } = said;
    const { summary } = documents;
    const isSum =
      typeof type === 'string' && WRAPPER_TYPES.test(type) && summary?.startsWith(USAGE);
    return {
      call,
      ...(isSum && { responseId: idOfSum(call['id'] as string) }),
      documents: {
        ...documents,
        ...(typeof type === 'string' &&
          summary && { summary: summary.replace(REQUESTS, `$1${isSum ? 0 : 1}`) }),
        attributes: textOfAttributes(this.attributes),
      } as WholeCall['documents'],
      agent: agentOf(
        (name) => (name === 'langfuse.observation.type' ? said['type'] : undefined),
        call['op_name'] as string,
      ),
      eventTimes: this.times.text,
    };
  }

  get id(): string {
    return this.call['id'] as string;
  }

  /**
   * The traces that contain the call now or did before. `isMoved`: the call left a trace, begins later or ends earlier
   * than before.
   */
  get traces(): { id: string; isMoved: boolean }[] {
    const { before, call } = this;
    const id = call['trace_id'] as string;
    if (!before) return [{ id, isMoved: false }];
    const old = before.call['trace_id'];
    if (typeof old === 'string' && old !== id)
      return [id, old].map((one) => ({ id: one, isMoved: true }));
    const [first, last] = callTimes(before.call);
    const [newFirst, newLast] = callTimes(call);
    return [{ id, isMoved: newFirst > first || newLast < last }];
  }

  private get exception(): string | null {
    const { said } = this;
    return said['level'] === 'ERROR' ? (readText(said, 'statusMessage') ?? 'error') : null;
  }

  /** Registers the members that the event sets and removes the others. Returns the body without these others. */
  private takeMembers(
    members: Map<string, string>,
    body: Record<string, unknown>,
    order: EventOrder,
  ): Record<string, unknown> {
    const { times } = this;
    const taken = new Map<string, boolean>();
    const lost: [string, undefined][] = [];
    for (const name of members.keys()) {
      if (name === 'id' || name === 'metadata') continue;
      const timedAs = MEMBER_ALIASES[name] ?? name;
      let isTaken = taken.get(timedAs);
      if (isTaken === undefined) {
        isTaken = FIXED.has(name) ? times.takesFirst(name, order) : times.takes(timedAs, order);
        taken.set(timedAs, isTaken);
      }
      if (isTaken) continue;
      members.delete(name);
      lost.push([name, undefined]);
    }
    return lost.length === 0 ? body : { ...body, ...Object.fromEntries(lost) };
  }

  /**
   * A trace lasts as long as its observations, which `LangfuseService` computes. It keeps times of its own if it names
   * them, as an import does. A trace without observations has no duration.
   */
  private traceFields(event: IngestionEvent, body: Record<string, unknown>, id: string) {
    const { call: before, times } = this;
    const thread = readText(body, 'sessionId') ?? before['thread_id'] ?? null;
    const isOwn = times.hasOwnTimes;
    const isKept = times.isObserved && !isOwn;
    const started = isKept
      ? (before['started_at'] as string)
      : this.startTime(isOwn ? 'startTime' : 'timestamp', event, body);
    const ended = isKept || isOwn ? (readText(body, 'endTime') ?? before['ended_at']) : undefined;
    return {
      op_name: opName(before, event, body),
      trace_id: id,
      parent_id: null,
      started_at: started,
      ended_at: ended ?? started,
      thread_id: thread,
      turn_id: thread === null ? null : id,
    };
  }

  private observationFields(event: IngestionEvent, body: Record<string, unknown>, id: string) {
    const before = this.call;
    const said = (member: string, field: string) => readText(body, member) ?? before[field];
    const traceId = said('traceId', 'trace_id') ?? id;
    const started = this.startTime('startTime', event, body);
    const isInstant = event.type === 'event-create' && !this.times.has('endTime');
    const ended = isInstant ? started : said('endTime', 'ended_at');
    const above = traceId === id ? null : traceId;
    return {
      op_name: opName(before, event, body),
      trace_id: traceId,
      parent_id: parentIn(body, id) ?? before['parent_id'] ?? above,
      started_at: started,
      ...(ended !== undefined && ended !== null && { ended_at: ended }),
    };
  }

  /** Returns the start that events name, else the time of the earliest event. */
  private startTime(
    member: string,
    { timestamp }: IngestionEvent,
    body: Record<string, unknown>,
  ): string {
    const before = this.call['started_at'] as string | undefined;
    const named = readText(body, member);
    if (named !== undefined) return named;
    if (before === undefined) return timestamp;
    return this.times.has(member) || microsecondsAt(before) <= microsecondsAt(timestamp)
      ? before
      : timestamp;
  }

  /**
   * Sets the type that the body names, else that of the event. The type of an update counts only until the create
   * arrives.
   */
  private setType({ type, body }: IngestionEvent, order: EventOrder): void {
    const named = readText(body, 'type');
    const [ofEvent] = type.split('-', 1) as [string];
    if (named === undefined && ofEvent === 'observation') return;
    const isDerived = named === undefined && type.endsWith('-update');
    if (!this.times.takes('type', isDerived ? DERIVED : order)) return;
    this.said['type'] = named ?? ofEvent.toUpperCase();
    this.attributes.set('type', JSON.stringify(this.said['type']));
  }

  private setDocuments(
    members: Map<string, string>,
    body: Record<string, unknown>,
    modelBefore: unknown,
  ): void {
    const input = members.get('input');
    if (input !== undefined) this.documents.inputs = inputsText(input, body['input']);
    const output = members.get('output');
    if (output !== undefined) this.documents.output = output;
    const model = this.said['model'];
    const usage =
      readUsage(body, model) ??
      (model === modelBefore
        ? undefined
        : this.usageOfModel(modelName(modelBefore), modelName(model)));
    if (usage) this.documents.summary = typeof usage === 'string' ? usage : JSON.stringify(usage);
  }

  /**
   * Returns usage that arrived before the name of its model, or under an earlier name. Requests of an SDK may overtake
   * each other.
   */
  private usageOfModel(before: string, model: string): string | undefined {
    const { summary } = this.documents;
    if (typeof summary !== 'string') return undefined;
    if (this.ownUsage?.summary !== summary) {
      const usage = textsIn(summary, { usage: { [before]: true } })?.usage?.[before];
      this.ownUsage = { summary, usage };
    }
    const { usage } = this.ownUsage;
    return usage === undefined || usage === 'null'
      ? undefined
      : `{"usage":{${JSON.stringify(model)}:${usage}}}`;
  }

  private setAttributes(members: ReadonlyMap<string, string>, order: EventOrder): void {
    for (const [name, value] of members)
      if (name === 'metadata') this.mergeMetadata(value, order);
      else if (!FIELDS.has(name)) this.attributes.set(name, value);
  }

  /** Merges `metadata` member by member, as Langfuse does. Each member keeps the value of its latest event. */
  private mergeMetadata(value: string, order: EventOrder): void {
    const { attributes, times } = this;
    const known = attributes.get('metadata');
    const isKnownObject = typeof known === 'object' || known?.startsWith('{');
    if (!value.startsWith('{')) {
      if (times.takes('metadata', order)) attributes.set('metadata', value);
      return;
    }
    const isLater = times.takes('metadata', order);
    if (known !== undefined && !isKnownObject && !isLater) return;
    const members =
      typeof known === 'object'
        ? known
        : new Map(isKnownObject ? memberTexts(known as string) : []);
    for (const [member, text] of memberTexts(value))
      if (times.takes(`metadata.${member}`, order)) members.set(member, text);
    attributes.set('metadata', members);
  }
}

const readText = (body: Record<string, unknown>, name: string): string | undefined => {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Returns the parent that an observation names. Zeros, blanks and the observation itself are not a parent. */
function parentIn(body: Record<string, unknown>, id: string): string | undefined {
  const parent = readText(body, 'parentObservationId');
  return parent === undefined || isEmptyId(parent) || parent === id ? undefined : parent;
}

const TIMES = { timestamp: 'started_at', startTime: 'started_at', endTime: 'ended_at' };

/** @throws InvalidEvent */
function assertTimes(body: Record<string, unknown>): void {
  for (const [name, field] of Object.entries(TIMES)) {
    const value = body[name];
    if (value === undefined || value === null || value === '' || isDateTime(value)) continue;
    throw new InvalidEvent(`${field} ${DATE_TIME_RULE}; it is read from body.${name}`);
  }
}

export const DATE_TIME_RULE = 'must be an ISO 8601 date-time such as 2026-01-31T12:00:00.123456Z';

const opName = (before: CallFields, { type }: IngestionEvent, body: Record<string, unknown>) =>
  readText(body, 'name') ?? before['op_name'] ?? type.split('-', 1)[0]!;

/** Returns the start and the end of a call in microseconds. A running call ends at its start. */
function callTimes(call: CallFields): [first: number, last: number] {
  const first = microsecondsAt(call['started_at'] as string);
  const ended = call['ended_at'];
  return [first, typeof ended === 'string' ? Math.max(first, microsecondsAt(ended)) : first];
}

const textOfAttributes = (attributes: Attributes): string =>
  objectText(
    [...attributes].map(([name, text]) => [
      name,
      typeof text === 'string' ? text : objectText(text),
    ]),
  );

function inputsText(text: string, value: unknown): string {
  if (isObject(value)) return text;
  const isMessages =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => isObject(item) && typeof item['role'] === 'string');
  return `{"${isMessages ? 'messages' : 'input'}":${text}}`;
}

/** Types of observations that wrap requests to models. Their usage is the sum of the requests inside. */
const WRAPPER_TYPES = /^(?:span|agent|tool|chain|evaluator|guardrail)$/i;

function readUsage(body: Record<string, unknown>, model: unknown) {
  const usage = reportedUsage(reportedCounts(body));
  if (Object.keys(usage).length === 0) return undefined;
  return { usage: { [modelName(model)]: { requests: 1, ...usage } } };
}

/**
 * Returns the reported counts. If the older member `usage` counts another unit than tokens, only the details are used.
 */
function reportedCounts({ usage, usageDetails }: Record<string, unknown>): UsageEntry {
  const isOfTokens = !isObject(usage) || !new UsageCounts(usage).hasOtherUnit;
  const hasDetails = isObject(usageDetails) && Object.keys(usageDetails).length > 0;
  return { ...((isOfTokens || !hasDetails) && (usage as object)), ...(usageDetails as object) };
}
const modelName = (model: unknown): string =>
  typeof model === 'string' && model !== '' ? model : UNKNOWN;

const UNKNOWN = 'unknown';

/** Summaries that this file makes, with their number of requests: an event may set the type after the usage. */
const USAGE = '{"usage":{';
const REQUESTS = /^(\{"usage":\{"(?:[^"\\]|\\.){0,1024}":\{"requests":)[01]/;

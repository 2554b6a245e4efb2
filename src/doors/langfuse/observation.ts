import type { StoredCall, WholeCall } from '../../tracing/calls/calls.service.js';
import { isObject } from '../../platform/json/is-object.js';
import { memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { type Usage, UsageCounts } from '../../tracing/usage/counts.js';
import { reportedUsage } from '../../tracing/usage/usage.js';

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

/** The members that become a field, an input or an output of the call; others become attributes of the same name. */
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

/** Attributes that other things follow from. */
const READ = ['level', 'statusMessage', 'model'];

type Call = Record<string, unknown>;
/** The texts of the members of an object, and those of the members of its `metadata`, which are merged. */
type Attributes = Map<string, string | Map<string, string>>;

/**
 * A call that events change: a trace is its root, an observation lies below its parent, else below the trace. What an event
 * leaves out or says is null stays as it was. Each event costs its own length, however much others have said before.
 */
export class Observation {
  private call: Call;
  private readonly documents: StoredCall['documents'];
  private readonly attributes: Attributes;
  /** Usage without a model, as the stored summary has it; it is looked for once, since the summary may be large. */
  private unnamed: { summary: unknown; usage: string | undefined } | undefined;
  /** The values of some attributes. */
  private readonly said: Record<string, unknown> = {};

  constructor(
    private readonly projectId: string,
    before?: StoredCall,
  ) {
    this.call = before?.call ?? {};
    this.documents = { ...before?.documents };
    this.attributes = memberTexts(before?.documents.attributes ?? '{}');
    for (const name of READ)
      this.said[name] = JSON.parse((this.attributes.get(name) as string | undefined) ?? 'null');
  }

  /** @throws InvalidEvent */
  apply(event: Event): void {
    const { body, text } = event;
    const id = readText(body, 'id');
    if (id === undefined) throw new InvalidEvent('body.id is required');
    const members = memberTexts(text);
    for (const [name, value] of members) if (value === 'null') members.delete(name);
    for (const [name, value] of members) if (!FIELDS.has(name)) this.setAttribute(name, value);
    for (const name of READ) this.said[name] = body[name] ?? this.said[name];
    this.call = {
      ...this.call,
      ...(isTrace(event)
        ? traceFields(this.call, event, id)
        : observationFields(this.call, event, id)),
      project_id: this.projectId,
      id,
      ...(this.said['level'] === 'ERROR' && {
        exception: readText(this.said, 'statusMessage') ?? 'error',
      }),
    };
    this.setDocuments(members, body);
  }

  /** The call after all events. */
  get stored(): WholeCall {
    const { call, documents } = this;
    return {
      call,
      documents: {
        ...documents,
        attributes: textOfAttributes(this.attributes),
      } as WholeCall['documents'],
    };
  }

  private setDocuments(members: Map<string, string>, body: Record<string, unknown>): void {
    const input = members.get('input');
    if (input !== undefined) this.documents.inputs = inputsText(input, body['input']);
    const output = members.get('output');
    if (output !== undefined) this.documents.output = output;
    const usage =
      readUsage(body, this.said['model']) ??
      (body['model'] ? this.usageNamed(body['model']) : undefined);
    if (usage) this.documents.summary = typeof usage === 'string' ? usage : JSON.stringify(usage);
  }

  /** Usage that came before its model: requests of an SDK may overtake each other. */
  private usageNamed(model: unknown): string | undefined {
    const { summary } = this.documents;
    if (typeof model !== 'string' || model === UNKNOWN || typeof summary !== 'string')
      return undefined;
    if (this.unnamed?.summary !== summary) {
      const usage = textsIn(summary, { usage: { [UNKNOWN]: true } })?.usage?.[UNKNOWN];
      this.unnamed = { summary, usage };
    }
    const { usage } = this.unnamed;
    return usage === undefined || usage === 'null'
      ? undefined
      : `{"usage":{${JSON.stringify(model)}:${usage}}}`;
  }

  /** Of metadata the members are merged, as Langfuse does. */
  private setAttribute(name: string, value: string): void {
    if (name !== 'metadata' || !value.startsWith('{')) {
      this.attributes.set(name, value);
      return;
    }
    const known = this.attributes.get(name);
    const members = typeof known === 'string' && known.startsWith('{') ? memberTexts(known) : known;
    if (typeof members === 'object')
      for (const [member, text] of memberTexts(value)) members.set(member, text);
    this.attributes.set(name, typeof members === 'object' ? members : value);
  }
}

const readText = (body: Record<string, unknown>, name: string): string | undefined => {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const opName = (before: Call, { type, body }: Event) =>
  readText(body, 'name') ?? before['op_name'] ?? type.split('-', 1)[0]!;

/** A trace has no end of its own: it ends with its last event. */
function traceFields(before: Call, event: Event, id: string) {
  const { body, timestamp } = event;
  const thread = readText(body, 'sessionId') ?? before['thread_id'] ?? null;
  const ended = before['ended_at'] as string | undefined;
  return {
    op_name: opName(before, event),
    trace_id: id,
    parent_id: null,
    started_at: before['started_at'] ?? readText(body, 'timestamp') ?? timestamp,
    ended_at: ended && Date.parse(ended) > Date.parse(timestamp) ? ended : timestamp,
    thread_id: thread,
    turn_id: thread === null ? null : id,
  };
}

function observationFields(before: Call, event: Event, id: string) {
  const { type, body, timestamp } = event;
  const said = (member: string, field: string) => readText(body, member) ?? before[field];
  const traceId = said('traceId', 'trace_id') ?? id;
  const started = said('startTime', 'started_at') ?? timestamp;
  const ended = said('endTime', 'ended_at') ?? (type === 'event-create' ? started : undefined);
  const above = traceId === id ? null : traceId;
  return {
    op_name: opName(before, event),
    trace_id: traceId,
    parent_id: said('parentObservationId', 'parent_id') ?? above,
    started_at: started,
    ...(ended && { ended_at: ended }),
  };
}

const textOfAttributes = (attributes: Attributes): string =>
  objectText(
    [...attributes].map(([name, text]) => [
      name,
      typeof text === 'string' ? text : objectText(text),
    ]),
  );

/** An object is the inputs, a list of messages their member `messages`, any other value their member `input`. */
function inputsText(text: string, value: unknown): string {
  if (isObject(value)) return text;
  const isMessages =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => isObject(item) && typeof item['role'] === 'string');
  return `{"${isMessages ? 'messages' : 'input'}":${text}}`;
}

function readUsage(body: Record<string, unknown>, model: unknown) {
  const usage = reportedUsage(reportedCounts(body));
  if (Object.keys(usage).length === 0) return undefined;
  const name = typeof model === 'string' && model !== '' ? model : UNKNOWN;
  return { usage: { [name]: { requests: 1, ...usage } } };
}

/** The details alone where the older member counts something else than tokens. */
function reportedCounts({ usage, usageDetails }: Record<string, unknown>): Usage {
  const isOfTokens = !isObject(usage) || !new UsageCounts(usage).hasOtherUnit;
  const hasDetails = isObject(usageDetails) && Object.keys(usageDetails).length > 0;
  return { ...((isOfTokens || !hasDetails) && (usage as object)), ...(usageDetails as object) };
}

const UNKNOWN = 'unknown';

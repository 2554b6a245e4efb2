import { createHash } from 'node:crypto';
import { type Attributes, readAttributes } from './attributes.js';
import { recordTime } from './log-messages.js';
import type { KeyValue, OtlpSpan } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { isHexId } from './span-call.js';

/**
 * Defined by the semantic conventions of generative AI since v1.38, and by open-telemetry/semantic-conventions-genai
 * (model/gen-ai/events.yaml).
 */
const EVALUATION = 'gen_ai.evaluation.result';

export interface Evaluation {
  projectId: string;
  traceId: string;
  /** Null when the evaluation names only the response. */
  spanId: string | null;
  responseId: string | null;
  /** Nanoseconds since 1970, as digits. */
  at: string;
  attributes: Attributes;
}

/** Members of the payload with their attributes. Other attributes are stored in the member `attributes`. */
const MEMBERS: readonly [attribute: string, member: string][] = [
  ['gen_ai.evaluation.name', 'name'],
  ['gen_ai.evaluation.score.value', 'value'],
  ['gen_ai.evaluation.score.label', 'label'],
  ['gen_ai.evaluation.explanation', 'explanation'],
  ['gen_ai.response.id', 'response_id'],
  ['error.type', 'error_type'],
];
const NAMED: ReadonlySet<string> = new Set([
  ...MEMBERS.map(([attribute]) => attribute),
  'event.name',
]);

const responseOf = (attributes: Attributes): string | null => {
  const id = attributes.get('gen_ai.response.id');
  return typeof id === 'string' && id !== '' ? id : null;
};

export function evaluationsOf(span: OtlpSpan, projectId: string): Evaluation[] {
  const events = span.events?.filter(({ name }) => name === EVALUATION) ?? [];
  return events.map(({ timeUnixNano, attributes }) => {
    const read = readAttributes(attributes);
    return {
      projectId,
      traceId: span.traceId ?? '',
      spanId: span.spanId ?? '',
      responseId: responseOf(read),
      at: String(timeUnixNano ?? 0),
      attributes: read,
    };
  });
}

/**
 * Returns null when the record is not an evaluation.
 * @throws Error when it names neither a span nor a response
 */
export function readEvaluation(record: LogRecord, findProject: () => string): Evaluation | null {
  const attributes = readAttributes(record.attributes);
  if ((record.eventName || attributes.get('event.name')) !== EVALUATION) return null;
  withBody(attributes, record.body?.kvlistValue?.values);
  const { traceId = '', spanId = '' } = record;
  const responseId = responseOf(attributes);
  const isOfSpan = isHexId(traceId, 32) && isHexId(spanId, 16);
  if (!isOfSpan && responseId === null)
    throw new Error(`${EVALUATION} must name its span, or its response in gen_ai.response.id`);
  return {
    projectId: findProject(),
    traceId,
    spanId: isOfSpan ? spanId : null,
    responseId,
    at: BigInt(recordTime(record)).toString(),
    attributes,
  };
}

/** Adds the members of an event that older instrumentations send in its body. */
function withBody(attributes: Attributes, body: KeyValue[] | undefined): void {
  for (const [key, value] of readAttributes(body))
    if (!attributes.has(key)) attributes.set(key, value);
}

/** Some exporters send the number of a score as a text. */
const valueOf = (member: string, value: unknown): unknown =>
  member === 'value' && typeof value === 'string' && /^-?\d{1,16}(\.\d{1,16})?$/.test(value)
    ? Number(value)
    : value;

/**
 * Returns the body of the feedback for an evaluation, on the call of its span. Its id is a digest of the content, so an
 * evaluation that is sent again is stored once.
 */
export function evaluationFeedback(
  { projectId, traceId, at, attributes }: Evaluation,
  callId: string,
): Record<string, unknown> {
  const others = [...attributes].filter(([key]) => !NAMED.has(key));
  const payload = Object.fromEntries([
    ...MEMBERS.flatMap(([attribute, member]) =>
      attributes.has(attribute) ? [[member, valueOf(member, attributes.get(attribute))]] : [],
    ),
    ...(others.length > 0 ? [['attributes', Object.fromEntries(others)]] : []),
  ]) as Record<string, unknown>;
  const said = JSON.stringify([traceId, callId, at, payload]);
  return {
    project_id: projectId,
    id: createHash('sha256').update(said).digest('hex').slice(0, 32),
    svc_ref: `svc:///${projectId}/call/${callId}`,
    feedback_type: payload['name'],
    payload,
  };
}

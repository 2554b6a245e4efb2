import { createHash } from 'node:crypto';
import { WIRE } from '../../platform/http/wire-names.js';
import { type Attributes, readAttributes } from './attributes.js';
import { recordTime } from './log-messages.js';
import type { KeyValue, OtlpSpan } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { isHexId } from './span-call.js';

/** Semantic conventions of generative AI since v1.38, and of open-telemetry/semantic-conventions-genai (model/gen-ai/events.yaml). */
const EVALUATION = 'gen_ai.evaluation.result';

/** An evaluation of what a span did. */
export interface Evaluation {
  projectId: string;
  traceId: string;
  /** Null where the evaluation names only the response that the span got. */
  spanId: string | null;
  responseId: string | null;
  /** Nanoseconds since 1970, as digits. */
  at: string;
  attributes: Attributes;
}

/** Members of the payload by their attributes; others stay in `attributes`. */
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

/** The evaluations in the events of a span. */
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

/** Null when the record is no evaluation. @throws Error when it names neither a span nor a response */
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

/** Older instrumentations put the members of an event into its body. */
function withBody(attributes: Attributes, body: KeyValue[] | undefined): void {
  for (const [key, value] of readAttributes(body))
    if (!attributes.has(key)) attributes.set(key, value);
}

/** A score is a number, also where an exporter sent it as a text. */
const valueOf = (member: string, value: unknown): unknown =>
  member === 'value' && typeof value === 'string' && /^-?\d{1,16}(\.\d{1,16})?$/.test(value)
    ? Number(value)
    : value;

/** The body of the feedback that an evaluation is, on the call of the span. Its id is made of what it says. */
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
    [WIRE.ref]: `${WIRE.scheme}:///${projectId}/call/${callId}`,
    feedback_type: payload['name'],
    payload,
  };
}

import type { CallMessage } from '../../tracing/calls/messages/call-messages.service.js';
import { isObject } from '../../platform/json/json-object.js';
import { readAttributes } from './attributes.js';
import { CONVENTIONS } from './conventions.js';
import { readSpanContent, MESSAGE_EVENT } from './span-content.js';
import type { KeyValue } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { isHexId } from './span-call.js';

/** Messages of a log record for the call of its span, without the position of the record in its request. */
export interface LogPart {
  traceId: string;
  spanId: string;
  /** Nanoseconds since 1970, in 20 digits. */
  at: string;
  said: Pick<CallMessage, 'side' | 'member' | 'is_part' | 'value'>[];
}

const MEMBERS: ReadonlySet<string> = new Set(CONVENTIONS.map(([, target]) => target));

/** Returns null when the record is not an event of generative AI, names no span, or has no message. */
export function readLogPart(record: LogRecord): LogPart | null {
  const { traceId = '', spanId = '', eventName, attributes = [] } = record;
  const name = eventName || readAttributes(attributes).get('event.name');
  if (typeof name !== 'string' || !name.startsWith('gen_ai.')) return null;
  if (!isHexId(traceId, 32) || !isHexId(spanId, 16)) return null;
  const isMessage = MESSAGE_EVENT.test(name);
  const event = { name, attributes: isMessage ? bodyAttributes(record) : attributes };
  const found = readSpanContent(new Map(), { events: [event] });
  const said = (['inputs', 'output'] as const).flatMap((side) =>
    [...found[side]].flatMap(([member, { value, text }]): LogPart['said'] => {
      if (!MEMBERS.has(`${side}.${member}`)) return [];
      if (!isMessage) return [{ side, member, is_part: false, value: text }];
      const [message] = value as unknown[];
      return hasContent(message)
        ? [{ side, member, is_part: true, value: JSON.stringify(message) }]
        : [];
    }),
  );
  return said.length > 0 ? { traceId, spanId, at: recordTime(record), said } : null;
}

/** Returns the content of a message event. Span events have this attribute in place of the body of a record. */
function bodyAttributes({ body, attributes = [] }: LogRecord): KeyValue[] {
  return body ? [{ key: CONTENT, value: body }] : attributes.filter(({ key }) => key === CONTENT);
}

const CONTENT = 'gen_ai.event.content';
/** Members that instrumentations send even when they are configured not to send content. */
const MESSAGE_METADATA = ['role', 'index', 'finish_reason', 'id', 'tool_call_id', 'name'];

const hasContent = (message: unknown): boolean =>
  isObject(message) && Object.keys(message).some((name) => !MESSAGE_METADATA.includes(name));

/** Returns nanoseconds since 1970 in 20 digits; zeros when the record has no time. */
export function recordTime({ timeUnixNano, observedTimeUnixNano }: LogRecord): string {
  const time = [timeUnixNano, observedTimeUnixNano].find((nanos) => Number(nanos ?? 0) !== 0) ?? 0;
  return BigInt(time).toString().padStart(20, '0');
}

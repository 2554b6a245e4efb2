import protojson from 'protobufjs/ext/protojson.js';
import {
  type AnyValue,
  base64ToHex,
  hexToBase64,
  type KeyValue,
  LENIENT,
  originOfBytes,
  originOfText,
  parseOtlpJson,
  type ReceivedItem,
  receiveItems,
  responseWriters,
  decodeText,
  lookupType,
  withIds,
} from './otlp.js';
import { isPlain, type DecodedJson, jsonOfBytes, compileMessage } from './protobuf-json.js';
import { jsonIndex, LOGS, protobufIndex, type SpanBytes } from './span-index.js';

const REQUEST = lookupType('collector.logs.v1.ExportLogsServiceRequest');
const RESPONSE = lookupType('collector.logs.v1.ExportLogsServiceResponse');
const RECORD = lookupType('logs.v1.LogRecord');

/** Absent members have their default: an empty text or 0. */
export interface LogRecord {
  timeUnixNano?: string | number;
  observedTimeUnixNano?: string | number;
  eventName?: string;
  attributes?: KeyValue[];
  body?: AnyValue;
  traceId?: string;
  spanId?: string;
}

/**
 * A record that is decoded on reading. It is null when it cannot be about generative AI: most logs are about other
 * things.
 */
export type ReceivedLog = ReceivedItem<LogRecord | null>;

const EVENT_PREFIXES = ['gen_ai.', 'claude_code.', 'codex.', 'gemini_cli.'];

/** Returns true when the bytes of a request or of a record may hold messages or an event of a coding agent. */
export const mayHoldEvents = (bytes: Uint8Array): boolean => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return EVENT_PREFIXES.some((mark) => buffer.includes(mark));
};

/**
 * Finds the log records of a request. Each record is decoded later.
 * @throws ApiError `invalid_request`, `too_large`
 */
export const logsOfProtobuf = async (bytes: Uint8Array): Promise<ReceivedLog[]> =>
  receiveItems(
    await protobufIndex(bytes, compileMessage(REQUEST), LOGS),
    originOfBytes,
    withinLimits((part) =>
      mayHoldEvents(part) ? (jsonOfBytes(compileMessage(RECORD), part) as LogRecord) : null,
    ),
  );

/** Finds the log records of a JSON request, which must be UTF-8. Unknown members are ignored. */
export const logsOfJson = async (bytes: Uint8Array): Promise<ReceivedLog[]> =>
  receiveItems(
    await jsonIndex(bytes, LOGS),
    originOfText,
    withinLimits((part) =>
      mayHoldEvents(part) ? readRecord(parseOtlpJson(decodeText(part))) : null,
    ),
  );

/** Refuses a record over its limits without refusing the request. */
const withinLimits =
  (read: (part: Uint8Array) => LogRecord | null) =>
  (part: SpanBytes): LogRecord | null => {
    if (part instanceof Uint8Array) return read(part);
    throw new Error(part.why);
  };

function readRecord(json: DecodedJson): LogRecord {
  if (isPlain(compileMessage(RECORD), json)) return json;
  const message = protojson.fromJson(RECORD, withIds(json, hexToBase64), LENIENT);
  return withIds(protojson.toJson(RECORD, message), base64ToHex);
}

export const logsResponse = responseWriters(RESPONSE, 'rejectedLogRecords');

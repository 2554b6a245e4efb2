import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import protojson from 'protobufjs/ext/protojson.js';
import { hasOpaqueEscapes, skipValue, TooDeep } from '../../platform/json/json-grammar.js';
import { JsonLimit, parseBounded } from '../../platform/json/json-weight.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import {
  isPlain,
  type DecodedJson,
  jsonOfBytes,
  compileMessage,
  TOO_DEEP,
} from './protobuf-json.js';
import { headOfBytes, headOfText, leftOut, LEFT_OUT_ATTRIBUTE } from './span-head.js';
import {
  jsonIndex,
  MAX_SPAN_BYTES,
  invalidExport,
  protobufIndex,
  type SpanBytes,
  type SpanGroup,
} from './span-index.js';

/*
 * Reads OTLP by its published definitions with protobufjs (`proto/`, unchanged from open-telemetry/opentelemetry-proto
 * v1.11.0). The result is OTLP/JSON: ProtoJSON, except that ids are hexadecimal and enums are numbers. JSON in the
 * spelling of exporters is used unchanged; other JSON is converted to the protobuf message and back.
 */

const root = new protobuf.Root();
root.resolvePath = (_origin, file) => fileURLToPath(new URL(`./proto/${file}`, import.meta.url));
for (const service of ['trace/v1/trace_service', 'logs/v1/logs_service'])
  root.loadSync(`opentelemetry/proto/collector/${service}.proto`);
export const lookupType = (name: string) => root.lookupType(`opentelemetry.proto.${name}`);
const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const RESPONSE = lookupType('collector.trace.v1.ExportTraceServiceResponse');
const RESOURCE = lookupType('resource.v1.Resource');
const SCOPE = lookupType('common.v1.InstrumentationScope');
const SPAN = lookupType('trace.v1.Span');

export interface KeyValue {
  key?: string;
  value?: AnyValue;
}

export interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  /** Decimal digits; in JSON also a number. */
  intValue?: string | number;
  /** Strings stand for the values "NaN", "Infinity" and "-Infinity". */
  doubleValue?: number | string;
  arrayValue?: { values?: AnyValue[] };
  kvlistValue?: { values?: KeyValue[] };
  bytesValue?: string;
}

/** Absent members have their default: an empty text or 0. */
export interface OtlpSpan {
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  name?: string;
  kind?: number;
  startTimeUnixNano?: string | number;
  endTimeUnixNano?: string | number;
  attributes?: KeyValue[];
  events?: { timeUnixNano?: string | number; name?: string; attributes?: KeyValue[] }[];
  links?: { traceId?: string; spanId?: string }[];
  status?: { code?: number; message?: string };
}

/** The source of a span: the resource, and the scope of its instrumentation. */
export interface Origin {
  resource: { attributes?: KeyValue[] };
  scope: { name?: string; version?: string; attributes?: KeyValue[] };
}

export interface ReceivedItem<Item> {
  origin: Origin;
  /** @throws Error when the bytes are not a valid item */
  read(): Item;
}

/**
 * A span with its text: JSON as it was sent, or the OTLP/JSON of protobuf. A span over the limits of decoding is
 * reduced to its head (span-head.ts), and `note` is added to its attributes.
 */
export interface DecodedSpan {
  span: OtlpSpan;
  text: string;
  note?: string;
}
export type ReceivedSpan = ReceivedItem<DecodedSpan>;

/**
 * Finds the spans of a request. Each span is decoded later.
 * @throws ApiError `invalid_request`, `too_large`
 */
export const spansOfProtobuf = async (bytes: Uint8Array): Promise<ReceivedSpan[]> =>
  receiveItems(
    await protobufIndex(bytes, compileMessage(REQUEST)),
    originOfBytes,
    withHeadFallback(readSpanBytes, headOfBytes),
  );

/** Finds the spans of a JSON request, which must be UTF-8. Unknown members are ignored. */
export const spansOfJson = async (bytes: Uint8Array): Promise<ReceivedSpan[]> =>
  receiveItems(
    await jsonIndex(bytes),
    originOfText,
    withHeadFallback(readSpanText, (part, withAttributes) =>
      Buffer.from(headOfText(decodeText(part), withAttributes)),
    ),
  );

function readSpanBytes(part: Uint8Array): DecodedSpan {
  const span: OtlpSpan = jsonOfBytes(compileMessage(SPAN), part);
  return { span, text: part.length > MAX_SPAN_BYTES ? shortened(span) : JSON.stringify(span) };
}

function readSpanText(part: Uint8Array): DecodedSpan {
  const text = decodeText(part);
  skipValue(text, 0); // throws when the span is too deep to be stored
  const json = parseOtlpJson(text);
  const span = isPlain(compileMessage(SPAN), json) ? json : spanJson(spanMessage(json));
  return { span, text: part.length > MAX_SPAN_BYTES ? shortened(json) : text };
}

/**
 * Reads a span, or only its head when the span is over the limits of decoding. If the head's attributes are too deep,
 * it has no attributes.
 */
const withHeadFallback = (
  readSpan: (part: Uint8Array) => DecodedSpan,
  headOf: (part: Uint8Array, withAttributes: boolean) => Uint8Array,
) => {
  const readHead = (part: Uint8Array, why: string): DecodedSpan => {
    const { span } = orElse(
      () => readSpan(headOf(part, true)),
      () => readSpan(headOf(part, false)),
    );
    const note = leftOut(why);
    const attributes = [
      ...(span.attributes ?? []),
      { key: LEFT_OUT_ATTRIBUTE, value: { stringValue: note } },
    ];
    const head = { ...span, attributes };
    return { span: head, text: JSON.stringify(head), note };
  };
  return (part: SpanBytes): DecodedSpan =>
    part instanceof Uint8Array
      ? orElse(
          () => readSpan(part),
          (why) => readHead(part, why),
        )
      : readHead(part.bytes, part.why);
};

/** Returns the second result when the first read exceeds a limit of decoding. */
function orElse(read: () => DecodedSpan, readShorter: (why: string) => DecodedSpan): DecodedSpan {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    const isLimit = error instanceof TooDeep || error instanceof JsonLimit || message === TOO_DEEP;
    if (!isLimit) throw error;
    return readShorter(message);
  }
}

/** Maximum length of a text in the stored copy of a long span, in characters. */
const MAX_TEXT = 64 * 1024;

/**
 * Returns the span without its long texts, which its call stores. Stored twice, they would not fit into the memory for
 * a body.
 */
const shortened = (span: object): string =>
  JSON.stringify(span, (_, value: unknown) =>
    typeof value === 'string' && value.length > MAX_TEXT
      ? `[left out by Skein: ${value.length.toLocaleString('en-US')} characters]`
      : value,
  );

type OriginDecoder = (type: protobuf.Type, bytes: Uint8Array) => DecodedJson;
export const originOfBytes: OriginDecoder = (type, part) => jsonOfBytes(compileMessage(type), part);
export const originOfText: OriginDecoder = (type, part) =>
  checkPlain(type, parseOtlpJson(decodeText(part)));

/** Decodes resources and scopes at once, so that an invalid one refuses the request before anything is stored. */
export async function receiveItems<Item>(
  groups: readonly SpanGroup[],
  decode: OriginDecoder,
  readItem: (part: SpanBytes) => Item,
): Promise<ReceivedItem<Item>[]> {
  const turn = new EventLoopTurn();
  const resources = new Map<SpanGroup['owner'], DecodedJson>();
  const items: ReceivedItem<Item>[] = [];
  const canonical = (type: protobuf.Type, bytes: Uint8Array | undefined): DecodedJson => {
    try {
      return bytes ? decode(type, bytes) : {};
    } catch (error) {
      throw invalidExport((error as Error).message);
    }
  };
  for (const { owner, scope, spans: parts } of groups) {
    if (turn.isOver) await turn.next();
    const resource = resources.get(owner) ?? canonical(RESOURCE, owner.resource);
    resources.set(owner, resource);
    const origin = { resource, scope: canonical(SCOPE, scope) };
    for (const part of parts) items.push({ origin, read: () => readItem(part) });
  }
  return items;
}

/** The report to the exporter about refused spans. It is null when all spans were stored. */
export interface PartialSuccess {
  rejectedSpans: number;
  errorMessage: string;
}

/** Returns the writers of a signal's response. `rejected` is the member that counts refused items. */
export function responseWriters(response: protobuf.Type, rejected: string) {
  const message = (told: PartialSuccess | null) =>
    response.fromObject(
      told
        ? { partialSuccess: { [rejected]: told.rejectedSpans, errorMessage: told.errorMessage } }
        : {},
    );
  return {
    json: (told: PartialSuccess | null): Uint8Array =>
      Buffer.from(JSON.stringify(protojson.toJson(response, message(told)))),
    protobuf: (told: PartialSuccess | null): Uint8Array => response.encode(message(told)).finish(),
  };
}

export const spansResponse = responseWriters(RESPONSE, 'rejectedSpans');

type SpanMessage = protobuf.Message & { kind?: number; status?: { code?: number } };

export const LENIENT = { ignoreUnknownFields: true };

export const decodeText = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');

/**
 * Parses OTLP/JSON. Length limits of SDKs cut surrogate pairs in half; the halves are replaced in the parsed values,
 * but not in the stored text.
 */
export const parseOtlpJson = (text: string): DecodedJson =>
  Object(parseBounded(text, hasOpaqueEscapes(text) ? wellFormed : undefined));

const wellFormed = (_key: string, value: unknown) =>
  typeof value === 'string' ? Buffer.from(value).toString() : value;

/** Decodes a message that has no ids or enums. */
const checkPlain = (type: protobuf.Type, json: DecodedJson): DecodedJson =>
  isPlain(compileMessage(type), json)
    ? json
    : protojson.toJson(type, protojson.fromJson(type, json, LENIENT));

function spanMessage(json: DecodedJson): SpanMessage {
  const links = Array.isArray(json['links'])
    ? json['links'].map((link) => withIds(Object(link), hexToBase64))
    : (json['links'] ?? null);
  return protojson.fromJson(SPAN, withIds({ ...json, links }, hexToBase64), LENIENT);
}

function spanJson(message: SpanMessage): OtlpSpan {
  const json: DecodedJson = protojson.toJson(SPAN, message);
  const links = json['links'] as DecodedJson[] | undefined;
  return {
    ...withIds(json, base64ToHex),
    ...(links && { links: links.map((link) => withIds(link, base64ToHex)) }),
    ...(message.kind && { kind: message.kind }),
    ...(message.status && {
      status: {
        ...(json['status'] as OtlpSpan['status']),
        ...(message.status.code && { code: message.status.code }),
      },
    }),
  };
}

export function withIds(json: DecodedJson, spelled: (id: unknown) => unknown): DecodedJson {
  const copy = { ...json };
  for (const name of ['traceId', 'spanId', 'parentSpanId'])
    if (Object.hasOwn(copy, name)) copy[name] = spelled(copy[name]);
  return copy;
}

export function hexToBase64(id: unknown): unknown {
  if (typeof id !== 'string') return id;
  if (!/^([0-9a-f]{2})*$/i.test(id)) throw new Error('an id must be hexadecimal');
  return Buffer.from(id, 'hex').toString('base64');
}

export const base64ToHex = (id: unknown) => Buffer.from(String(id), 'base64').toString('hex');

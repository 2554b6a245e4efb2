import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import protojson from 'protobufjs/ext/protojson.js';
import { parseJson } from '../common/body.guard.js';
import { ApiError } from '../common/errors.js';
import { elementTexts, hasOpaqueEscapes } from '../common/json-text.js';

/*
 * OTLP by its published definitions (`proto/`, unchanged from open-telemetry/opentelemetry-proto v1.11.0), which protobufjs
 * reads. What leaves this file is OTLP/JSON: ProtoJSON, but ids are hexadecimal and enums are numbers.
 */

const root = new protobuf.Root();
root.resolvePath = (_origin, file) => fileURLToPath(new URL(`./proto/${file}`, import.meta.url));
root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
const typeOf = (name: string) => root.lookupType(`opentelemetry.proto.${name}`);
const REQUEST = typeOf('collector.trace.v1.ExportTraceServiceRequest');
const RESPONSE = typeOf('collector.trace.v1.ExportTraceServiceResponse');
const RESOURCE = typeOf('resource.v1.Resource');
const SCOPE = typeOf('common.v1.InstrumentationScope');
const SPAN = typeOf('trace.v1.Span');

export interface KeyValue {
  key?: string;
  value?: AnyValue;
}

export interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  /** Decimal digits. */
  intValue?: string;
  /** "NaN", "Infinity" and "-Infinity" are strings. */
  doubleValue?: number | string;
  arrayValue?: { values?: AnyValue[] };
  kvlistValue?: { values?: KeyValue[] };
  /** Base64. */
  bytesValue?: string;
}

/** A member that is not there has its default: an empty text, 0. */
export interface Span {
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  name?: string;
  kind?: number;
  startTimeUnixNano?: string;
  endTimeUnixNano?: string;
  attributes?: KeyValue[];
  events?: { name?: string; attributes?: KeyValue[] }[];
  links?: { traceId?: string; spanId?: string }[];
  status?: { code?: number; message?: string };
}

/** Who made a span. */
export interface Origin {
  resource: { attributes?: KeyValue[] };
  scope: { name?: string; version?: string; attributes?: KeyValue[] };
}

export interface ReceivedSpan {
  origin: Origin;
  /** @throws Error when the span does not follow the definitions. */
  read(): Span;
  /** The span as it was sent; of protobuf, its OTLP/JSON. */
  text(): string;
}

/** @throws ApiError `invalid_request` when the bytes are no export request. */
export function* spansOfProtobuf(bytes: Uint8Array): Generator<ReceivedSpan> {
  for (const { resource, scopeSpans } of decoded(bytes).resourceSpans)
    for (const { scope, spans } of scopeSpans) {
      const origin = {
        resource: protojson.toJson(RESOURCE, resource ?? {}),
        scope: protojson.toJson(SCOPE, scope ?? {}),
      };
      for (const span of spans)
        yield { origin, read: () => spanJson(span), text: () => JSON.stringify(spanJson(span)) };
    }
}

/** Unknown members are ignored. @throws ApiError `invalid_request` when the JSON is no export request. */
export function* spansOfJson(text: string): Generator<ReceivedSpan> {
  // Halves of surrogate pairs, which length limits of SDKs leave behind, are mended in what is read, not in what is kept.
  const request = parseJson(text, hasOpaqueEscapes(text) ? wellFormed : undefined);
  if (typeof request !== 'object' || request === null || Array.isArray(request))
    throw noRequest('it must be an object');
  for (const [resourceText, resourceSpans] of elements(text, request as Json, 'resourceSpans')) {
    const resource = canonical(RESOURCE, resourceSpans['resource']);
    for (const [scopeText, scopeSpans] of elements(resourceText, resourceSpans, 'scopeSpans')) {
      const origin = { resource, scope: canonical(SCOPE, scopeSpans['scope']) };
      for (const [spanText, span] of elements(scopeText, scopeSpans, 'spans'))
        yield { origin, read: () => spanJson(spanMessage(span)), text: () => spanText };
    }
  }
}

/** What the exporter is told: nothing when all spans were stored. */
export interface PartialSuccess {
  rejectedSpans: number;
  errorMessage: string;
}

export const responseJson = (partialSuccess: PartialSuccess | null): Uint8Array =>
  Buffer.from(JSON.stringify(protojson.toJson(RESPONSE, response(partialSuccess))));

export const responseProtobuf = (partialSuccess: PartialSuccess | null): Uint8Array =>
  RESPONSE.encode(response(partialSuccess)).finish();

const response = (partialSuccess: PartialSuccess | null) =>
  RESPONSE.fromObject(partialSuccess ? { partialSuccess } : {});

type Json = Record<string, unknown>;
type SpanMessage = protobuf.Message & { kind?: number; status?: { code?: number } };

/** The request, as far as it is looked into here. */
interface Request {
  resourceSpans: {
    resource?: protobuf.Message;
    scopeSpans: { scope?: protobuf.Message; spans: SpanMessage[] }[];
  }[];
}

function decoded(bytes: Uint8Array): Request {
  try {
    return REQUEST.decode(bytes) as unknown as Request;
  } catch (error) {
    throw noRequest((error as Error).message);
  }
}

/** A message in its one spelling, from JSON that may use any. */
function canonical(type: protobuf.Type, json: unknown): Json {
  try {
    return protojson.toJson(type, protojson.fromJson(type, json ?? {}, LENIENT));
  } catch (error) {
    throw noRequest((error as Error).message);
  }
}

const LENIENT = { ignoreUnknownFields: true };

const noRequest = (why: string) =>
  new ApiError('invalid_request', `the body is no OTLP export request: ${why.slice(0, 200)}`);

const wellFormed = (_key: string, value: unknown) =>
  typeof value === 'string' ? Buffer.from(value).toString() : value;

/** The elements of a member that is an array, with their texts; none when it is not there. */
function elements(text: string, object: Json, name: string): [text: string, value: Json][] {
  const values = object[name] ?? [];
  if (!Array.isArray(values)) throw noRequest(`${name} must be an array`);
  if (values.length === 0) return [];
  const texts = elementTexts(text, name);
  return values.map((value, i) => [texts[i]!, Object(value)]);
}

/** OTLP/JSON as a message. */
function spanMessage(json: Json): SpanMessage {
  const links = Array.isArray(json['links'])
    ? json['links'].map((link) => withIds(Object(link), hexToBase64))
    : (json['links'] ?? null);
  return protojson.fromJson(SPAN, withIds({ ...json, links }, hexToBase64), LENIENT);
}

/** A message as OTLP/JSON. */
function spanJson(message: SpanMessage): Span {
  const json: Json = protojson.toJson(SPAN, message);
  const links = json['links'] as Json[] | undefined;
  return {
    ...withIds(json, base64ToHex),
    ...(links && { links: links.map((link) => withIds(link, base64ToHex)) }),
    ...(message.kind && { kind: message.kind }),
    ...(message.status && {
      status: {
        ...(json['status'] as Span['status']),
        ...(message.status.code && { code: message.status.code }),
      },
    }),
  };
}

function withIds(json: Json, spelled: (id: unknown) => unknown): Json {
  const copy = { ...json };
  for (const name of ['traceId', 'spanId', 'parentSpanId'])
    if (Object.hasOwn(copy, name)) copy[name] = spelled(copy[name]);
  return copy;
}

function hexToBase64(id: unknown): unknown {
  if (typeof id !== 'string') return id;
  if (!/^([0-9a-f]{2})*$/i.test(id)) throw new Error('an id must be hexadecimal');
  return Buffer.from(id, 'hex').toString('base64');
}

const base64ToHex = (id: unknown) => Buffer.from(String(id), 'base64').toString('hex');

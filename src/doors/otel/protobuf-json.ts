import { isUtf8 } from 'node:buffer';
import protobuf from 'protobufjs';
import { isObject } from '../../platform/json/json-object.js';

/*
 * Decodes messages by their published definitions directly to OTLP/JSON: ProtoJSON, except that ids are hexadecimal and
 * enums are numbers. protobufjs reads the definitions and the wire format. Its own way, a message object and then
 * `toJson`, takes several times as long (docs/adr/0053-otlp-in-one-pass.md). Tests check that both ways give the same
 * result.
 */

export type DecodedJson = Record<string, unknown>;

type FieldKind =
  'string' | 'bytes' | 'id' | 'bool' | 'int64' | 'fixed64' | 'double' | 'number' | 'message';

interface Field {
  /** The name in ProtoJSON. */
  name: string;
  /** Position in the definition, which is the order of members in JSON. */
  at: number;
  kind: FieldKind;
  wire: number;
  isRepeated: boolean;
  isInOneof: boolean;
  /** The default value. It is not written, because an absent member means the same. */
  standard: unknown;
  message: MessageLayout | undefined;
  read: (reader: protobuf.Reader) => unknown;
}

export interface MessageLayout {
  byId: readonly (Field | undefined)[];
  byName: ReadonlyMap<string, Field>;
}

export const LENGTH_DELIMITED = 2;
/** Maximum nesting of messages, the same as in protobufjs. */
export const MAX_MESSAGES_DEEP = 100;
/** Error message of protobufjs 8 for deeper nesting. The error has no class of its own. */
export const TOO_DEEP = 'max depth exceeded';

const messages = new Map<protobuf.Type, MessageLayout>();

export function compileMessage(type: protobuf.Type): MessageLayout {
  const known = messages.get(type);
  if (known) return known;
  const byId: (Field | undefined)[] = [];
  const byName = new Map<string, Field>();
  const message = { byId, byName };
  messages.set(type, message); // registered before its fields, because messages may contain themselves
  for (const [at, field] of type.fieldsArray.entries()) {
    const made = compileField(field.resolve(), at);
    byId[field.id] = made;
    byName.set(made.name, made);
  }
  return message;
}

const ID_FIELDS = ['traceId', 'spanId', 'parentSpanId'];
/** Scalar types of the definitions: kind, wire type, default and reader. */
const SCALARS: Record<string, [FieldKind, wire: number, standard: unknown, Field['read']]> = {
  string: ['string', LENGTH_DELIMITED, '', readText],
  bytes: ['bytes', LENGTH_DELIMITED, '', (reader) => readBytes(reader, 'base64')],
  bool: ['bool', 0, false, (reader) => reader.bool()],
  int32: ['number', 0, 0, (reader) => reader.int32()],
  uint32: ['number', 0, 0, (reader) => reader.uint32()],
  fixed32: ['number', 5, 0, (reader) => reader.fixed32()],
  int64: ['int64', 0, '0', readInt64],
  fixed64: ['fixed64', 1, '0', readFixed64],
  double: ['double', 1, 0, readDouble],
};
const NO_SCALAR = ['message', LENGTH_DELIMITED, undefined, () => undefined] as const;

function compileField(field: protobuf.Field, at: number): Field {
  const { name, resolvedType } = field;
  const isId = ID_FIELDS.includes(name);
  const isMessage = resolvedType instanceof protobuf.Type;
  const scalar = SCALARS[resolvedType instanceof protobuf.Enum ? 'int32' : field.type];
  if (!isMessage && !scalar) throw new Error(`OTLP has a type that is not read: ${field.type}`);
  const [kind, wire, standard, read] = scalar ?? NO_SCALAR;
  return {
    name,
    at,
    kind: isId ? 'id' : kind,
    wire,
    isRepeated: field.repeated,
    isInOneof: field.partOf !== null,
    standard,
    message: isMessage ? compileMessage(resolvedType) : undefined,
    read: isId ? (reader) => readBytes(reader, 'hex') : read,
  };
}

/** @throws Error when the bytes are not a message of this type */
export function jsonOfBytes(message: MessageLayout, bytes: Uint8Array): DecodedJson {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return new Decoder(protobuf.Reader.create(buffer)).message(message, bytes.length, {});
}

class Decoder {
  private depth = 0;

  constructor(private readonly reader: protobuf.Reader) {}

  /** Reads into `json`, because one message may arrive in several parts. */
  message({ byId }: MessageLayout, end: number, json: DecodedJson): DecodedJson {
    const { reader } = this;
    if (this.depth > MAX_MESSAGES_DEEP) throw new Error(TOO_DEEP);
    if (end > reader.len) throw new RangeError('a field is longer than its message');
    let last = -1;
    let isSorted = true;
    for (const _ in json) isSorted = false;
    while (reader.pos < end) {
      const tag = reader.tag();
      const field = byId[tag >>> 3];
      if (!field || field.wire !== (tag & 7)) {
        reader.skipType(tag & 7, this.depth, tag >>> 3);
        continue;
      }
      if (field.at < last) isSorted = false;
      last = field.at;
      this.field(field, json);
    }
    if (reader.pos !== end) throw new RangeError('a field is longer than its message');
    return isSorted ? json : sorted(json, byId);
  }

  private field(field: Field, json: DecodedJson): void {
    const { name, message, isInOneof } = field;
    if (isInOneof) clearOthers(json, name);
    if (field.isRepeated) {
      const list = (json[name] ??= []) as unknown[];
      list.push(message ? this.inner(message, {}) : field.read(this.reader));
    } else if (message) json[name] = this.inner(message, (json[name] ?? {}) as DecodedJson);
    else {
      const value = field.read(this.reader);
      if (isInOneof || !Object.is(value, field.standard)) json[name] = value;
      else if (json[name] !== undefined) delete json[name]; // the last value counts
    }
  }

  private inner(message: MessageLayout, json: DecodedJson): DecodedJson {
    const length = this.reader.size();
    this.depth++;
    const inner = this.message(message, this.reader.pos + length, json);
    this.depth--;
    return inner;
  }
}

/**
 * Removes the other members of a oneof: the last one counts. All members of such a message belong to its only oneof.
 */
function clearOthers(json: DecodedJson, name: string): void {
  for (const other in json) if (other !== name) delete json[other];
}

function sorted(json: DecodedJson, byId: MessageLayout['byId']): DecodedJson {
  const fields = byId.filter((field) => field !== undefined).toSorted((a, b) => a.at - b.at);
  return Object.fromEntries(
    fields.flatMap(({ name }) => (json[name] === undefined ? [] : [[name, json[name]]])),
  );
}

/** @throws Error when the text is not UTF-8 */
function readText(reader: protobuf.Reader): string {
  const [start, end] = readSpan(reader);
  const bytes = reader.buf as Buffer;
  const text = bytes.toString('utf8', start, end);
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end)))
    throw new Error('a text is not UTF-8');
  return text;
}

function readBytes(reader: protobuf.Reader, encoding: 'hex' | 'base64'): string {
  const [start, end] = readSpan(reader);
  return (reader.buf as Buffer).toString(encoding, start, end);
}

function readSpan(reader: protobuf.Reader): [start: number, end: number] {
  const length = reader.size();
  const start = reader.pos;
  const end = start + length;
  if (end > reader.len) throw new RangeError('a field is longer than its message');
  reader.pos = end;
  return [start, end];
}

function readInt64(reader: protobuf.Reader): string {
  const { high, low } = reader.int64() as { high: number; low: number };
  if (high === 0 && low >= 0) return `${low}`;
  return ((BigInt(high) << 32n) | BigInt(low >>> 0)).toString();
}

function readFixed64(reader: protobuf.Reader): string {
  const low = reader.fixed32();
  const high = reader.fixed32();
  return ((BigInt(high) << 32n) | BigInt(low)).toString();
}

function readDouble(reader: protobuf.Reader): number | string {
  const number = reader.double();
  return Number.isFinite(number) ? number : String(number);
}

/** Texts of 64-bit numbers that are too short to be out of range; `int64` may be negative. */
const FIXED64 = /^\d{1,19}$/;
const INT64 = /^-?\d{1,18}$/;
const HEX = /^(?:[0-9a-f]{2})*$/;
const MAX_INT32 = 2 ** 31 - 1;

/** Checks whether a JSON value is spelled as exporters spell it. */
const IS_PLAIN: Record<FieldKind, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  id: (value) => typeof value === 'string' && HEX.test(value),
  bool: (value) => typeof value === 'boolean',
  int64: (value) => (typeof value === 'string' ? INT64.test(value) : Number.isSafeInteger(value)),
  fixed64: (value) =>
    typeof value === 'string'
      ? FIXED64.test(value)
      : Number.isSafeInteger(value) && (value as number) >= 0,
  double: (value) => typeof value === 'number',
  number: (value) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_INT32,
  bytes: () => false,
  message: () => false,
};

/**
 * Returns true when a JSON value is a message in the spelling of exporters. Other values may still be messages:
 * ProtoJSON allows more names and spellings.
 */
export function isPlain({ byName }: MessageLayout, json: unknown, depth = 0): boolean {
  if (!isObject(json) || depth > MAX_MESSAGES_DEEP) return false;
  let oneOfs = 0;
  for (const name in json) {
    const field = byName.get(name);
    if (!field || (field.isInOneof && ++oneOfs > 1)) return false;
    const value = json[name];
    const isGood = field.isRepeated
      ? Array.isArray(value) && value.every((item) => isPlainValue(field, item, depth))
      : isPlainValue(field, value, depth);
    if (!isGood) return false;
  }
  return true;
}

const isPlainValue = ({ kind, message }: Field, value: unknown, depth: number): boolean =>
  message ? isPlain(message, value, depth + 1) : IS_PLAIN[kind](value);

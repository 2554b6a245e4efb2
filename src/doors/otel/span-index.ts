import protobuf from 'protobufjs';
import { ApiError } from '../../platform/errors.js';
import { CODES } from '../../platform/json/json-grammar.js';
import { JsonScanner, NotJson, type ScanListener } from '../../platform/json/json-scanner.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { LENGTH_DELIMITED, MAX_MESSAGES_DEEP, type MessageLayout } from './protobuf-json.js';

/*
 * Finds the spans of an export request in its bytes. This happens before anything is decoded: eight kilobytes can
 * inflate to millions of empty spans, each of which would become objects a hundred times its size. Exporters send 512
 * spans by default, and a few thousand at most. Log records are found in the same way and have the same limits.
 */

export const MAX_SPANS = 10_000;
/** Fields of the whole request. An attribute with a text counts as four, a number in a list as two. */
export const MAX_FIELDS = 1_000_000;
/** Fields of one span, which is decoded in one go. A span with more fields is stored as its head. */
export const MAX_SPAN_FIELDS = 50_000;
/**
 * Maximum bytes of a log record, a resource or a scope. Spans may be longer; the long texts of such a span are stored
 * once.
 */
export const MAX_SPAN_BYTES = 8 * 1024 * 1024;
/** Resources and scopes, counted for each span that they are stored with. */
export const MAX_ORIGIN_BYTES = 64 * 1024 * 1024;

export interface OtlpSignal {
  resources: string;
  scopes: string;
  items: string;
  item: string;
}

const SPANS: OtlpSignal = {
  resources: 'resourceSpans',
  scopes: 'scopeSpans',
  items: 'spans',
  item: 'span',
};
export const LOGS: OtlpSignal = {
  resources: 'resourceLogs',
  scopes: 'scopeLogs',
  items: 'logRecords',
  item: 'log record',
};

/** Spans of one scope, as parts of the body. `resource` and `scope` are absent when the body has none. */
export interface SpanGroup {
  owner: { resource?: Uint8Array };
  scope?: Uint8Array;
  spans: SpanBytes[];
}

/** An item over its limits has a reason and is not decoded as a whole. `receiveItems` decides how it is stored. */
export type SpanBytes = Uint8Array | { bytes: Uint8Array; why: string };

export const invalidExport = (why: string) =>
  new ApiError('invalid_request', `the body is not an OTLP export request: ${why.slice(0, 200)}`);

const tooLarge = (what: string, limit: number) =>
  new ApiError('too_large', `${what}, over the limit of ${limit}: send smaller batches`);

class SpanCounts {
  private spans = 0;
  private fields = 0;
  private fieldsBefore = 0;

  constructor(private readonly signal: OtlpSignal) {}

  addField(): void {
    if (++this.fields > MAX_FIELDS)
      throw tooLarge('the request holds too many fields and values', MAX_FIELDS);
  }

  begin(kind: DecodedPart): void {
    if (kind === 'span' && ++this.spans > MAX_SPANS)
      throw tooLarge(`the request holds too many ${this.signal.items}`, MAX_SPANS);
    this.fieldsBefore = this.fields;
  }

  /** Returns the bytes of the item that ends, with a reason when it is over a limit. */
  end(kind: DecodedPart, bytes: Uint8Array): SpanBytes {
    const fields = this.fields - this.fieldsBefore;
    const what = kind === 'span' ? this.signal.item : kind;
    const isTooLong = what !== SPANS.item && bytes.length > MAX_SPAN_BYTES;
    if (!isTooLong && fields <= MAX_SPAN_FIELDS) return bytes;
    const why = isTooLong
      ? `a ${what} holds ${bytes.length} bytes, over the limit of ${MAX_SPAN_BYTES}`
      : `a ${what} holds ${fields} fields and values, over the limit of ${MAX_SPAN_FIELDS}`;
    return { bytes, why };
  }
}

/** Parts that are decoded in one go. */
type DecodedPart = 'resource' | 'scope' | 'span';

class Groups {
  list: SpanGroup[] = [];
  private owner: SpanGroup['owner'] = {};

  beginResource(): void {
    this.owner = {};
  }

  beginScope(): void {
    this.list.push({ owner: this.owner, spans: [] });
  }

  /** @throws ApiError `too_large` for a resource or scope over its limits */
  keep(kind: DecodedPart, part: SpanBytes): void {
    const group = this.list.at(-1)!;
    if (kind === 'span') group.spans.push(part);
    else if ('why' in part) throw new ApiError('too_large', part.why);
    else if (kind === 'resource') this.owner.resource = part;
    else group.scope = part;
  }
}

function checkOrigins(groups: readonly SpanGroup[]): void {
  let bytes = 0;
  for (const { owner, scope, spans } of groups)
    bytes += spans.length * ((owner.resource?.length ?? 0) + (scope?.length ?? 0));
  if (bytes > MAX_ORIGIN_BYTES)
    throw tooLarge(
      `the resources and scopes, repeated for each of their spans, hold ${bytes} bytes`,
      MAX_ORIGIN_BYTES,
    );
}

/**
 * Messages that the walk enters or keeps on the way to the spans. The fields of all other messages are only counted.
 */
type MessageKind = 'request' | 'resourceSpans' | 'scopeSpans' | DecodedPart;

/** @throws ApiError `invalid_request`, `too_large` */
export async function protobufIndex(
  bytes: Uint8Array,
  request: MessageLayout,
  signal = SPANS,
): Promise<SpanGroup[]> {
  const walk = new ProtobufWalk(bytes, signal);
  const turn = new EventLoopTurn();
  try {
    for (const _ of walk.inside(request, 'request', bytes.length))
      if (turn.isOver) await turn.next();
  } catch (error) {
    throw error instanceof ApiError ? error : invalidExport((error as Error).message);
  }
  checkOrigins(walk.groups.list);
  return walk.groups.list;
}

class ProtobufWalk {
  readonly groups = new Groups();
  private readonly counts: SpanCounts;
  private readonly kinds: Record<string, MessageKind>;
  private readonly reader: protobuf.Reader;

  constructor(
    private readonly bytes: Uint8Array,
    signal: OtlpSignal,
  ) {
    this.counts = new SpanCounts(signal);
    this.kinds = protobufKinds(signal);
    this.reader = protobuf.Reader.create(bytes);
  }

  /** Yields after each message on the way to the spans, so that the caller can pause. */
  *inside(message: MessageLayout, kind: MessageKind, end: number): Generator<void> {
    const { reader } = this;
    while (reader.pos < end) {
      const field = this.nextField(message, end);
      if (!field) continue;
      const { start, stop } = field;
      const inner = this.kinds[`${kind}.${field.name}`];
      if (inner === 'resourceSpans') this.groups.beginResource();
      if (inner === 'scopeSpans') this.groups.beginScope();
      if (inner === 'resourceSpans' || inner === 'scopeSpans')
        yield* this.inside(field.message, inner, stop);
      else this.keep(inner as DecodedPart | undefined, field.message, start, stop);
      reader.pos = stop;
      yield;
    }
  }

  private keep(
    kind: DecodedPart | undefined,
    message: MessageLayout,
    start: number,
    stop: number,
  ): void {
    if (kind) this.counts.begin(kind);
    this.count(message, stop, 1);
    if (kind) this.groups.keep(kind, this.counts.end(kind, this.bytes.subarray(start, stop)));
  }

  private count(message: MessageLayout, end: number, depth: number): void {
    const { reader } = this;
    if (depth > MAX_MESSAGES_DEEP) return; // deeper messages are never decoded: their span is refused
    while (reader.pos < end) {
      const field = this.nextField(message, end);
      if (!field) continue;
      this.count(field.message, field.stop, depth + 1);
      reader.pos = field.stop;
    }
  }

  /** Counts a field. The reader then stands at the start of a message, or after any other field. */
  private nextField({ byId }: MessageLayout, end: number) {
    const { reader } = this;
    this.counts.addField();
    const tag = reader.uint32();
    if ((tag & 7) !== LENGTH_DELIMITED) {
      reader.skipType(tag & 7);
      if (reader.pos > end) throw new RangeError('a field is longer than its message');
      return undefined;
    }
    const stop = reader.uint32() + reader.pos;
    if (stop > end) throw new RangeError('a field is longer than its message');
    const known = byId[tag >>> 3];
    if (known?.message)
      return { name: known.name, message: known.message, start: reader.pos, stop };
    reader.pos = stop;
    return undefined;
  }
}

const protobufKinds = ({ resources, scopes, items }: OtlpSignal): Record<string, MessageKind> => ({
  [`request.${resources}`]: 'resourceSpans',
  'resourceSpans.resource': 'resource',
  [`resourceSpans.${scopes}`]: 'scopeSpans',
  'scopeSpans.scope': 'scope',
  [`scopeSpans.${items}`]: 'span',
});

/** Number of bytes that are scanned between two checks of the time. */
const SCANNED_AT_ONCE = 256 * 1024;

/** @throws ApiError `invalid_json`, `invalid_request`, `too_large` */
export async function jsonIndex(bytes: Uint8Array, signal = SPANS): Promise<SpanGroup[]> {
  const walk = new JsonWalk(bytes, signal);
  const turn = new EventLoopTurn();
  try {
    for (let at = 0; at < bytes.length; at += SCANNED_AT_ONCE) {
      if (turn.isOver) await turn.next();
      walk.scan(at, Math.min(at + SCANNED_AT_ONCE, bytes.length));
    }
    walk.end();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new ApiError('invalid_json', `the body is not valid JSON, at byte ${error.at}`);
  }
  checkOrigins(walk.groups.list);
  return walk.groups.list;
}

/** Members and elements that are entered or kept. `*` stands for the elements of a list. */
const jsonKinds = ({ resources, scopes, items }: OtlpSignal): Record<string, string> => ({
  [`request.${resources}`]: 'resources',
  'resources.*': 'resourceSpans',
  'resourceSpans.resource': 'resource',
  [`resourceSpans.${scopes}`]: 'scopes',
  'scopes.*': 'scopeSpans',
  'scopeSpans.scope': 'scope',
  [`scopeSpans.${items}`]: 'spans',
  'spans.*': 'span',
});
/** Names of lists for error messages. */
const listNames = ({ resources, scopes, items }: OtlpSignal): Record<string, string> => ({
  resources,
  scopes,
  spans: items,
});
const DECODED_PARTS = ['resource', 'scope', 'span'];

const { OPEN_BRACE, OPEN_BRACKET } = CODES;
const LETTER_N = 0x6e;

class JsonWalk implements ScanListener {
  readonly groups = new Groups();
  private readonly counts: SpanCounts;
  private readonly kinds: Record<string, string>;
  private readonly lists: Record<string, string>;
  private readonly scanner = new JsonScanner(this);
  /** Kinds of the entered containers. */
  private readonly path: string[] = [];
  /** Number of containers around the next value. */
  private depth = 0;
  private name = '';
  private chunkAt = 0;
  private kept: { kind: DecodedPart; start: number } | null = null;
  /** Number of groups before the current resource. A repeated list replaces the first one. */
  private groupsBefore = 0;

  constructor(
    private readonly bytes: Uint8Array,
    signal: OtlpSignal,
  ) {
    this.counts = new SpanCounts(signal);
    this.kinds = jsonKinds(signal);
    this.lists = listNames(signal);
    this.scanner.watch = Infinity;
  }

  scan(start: number, end: number): void {
    this.chunkAt = start;
    this.scanner.write(this.bytes.subarray(start, end));
  }

  end(): void {
    this.chunkAt = this.bytes.length;
    this.scanner.end();
  }

  key(key: string): void {
    this.name = key;
  }

  valueStart(at: number, firstByte: number): void {
    this.counts.addField();
    const isEntered = this.depth === this.path.length;
    if (firstByte === OPEN_BRACE || firstByte === OPEN_BRACKET) this.depth++;
    if (!isEntered) return;
    const parent = this.path.at(-1);
    const kind = parent
      ? this.kinds[`${parent}.${this.lists[parent] ? '*' : this.name}`]
      : 'request';
    if (kind && DECODED_PARTS.includes(kind)) this.keepFrom(kind as DecodedPart, this.chunkAt + at);
    else if (kind) this.goInto(kind, firstByte);
  }

  valueEnd(end: number, depth: number): void {
    this.depth = depth;
    if (depth < this.path.length) this.path.pop();
    else if (this.kept && depth === this.path.length) this.keep(this.kept, this.chunkAt + end);
  }

  private goInto(kind: string, firstByte: number): void {
    const list = this.lists[kind];
    if (firstByte === (list ? OPEN_BRACKET : OPEN_BRACE)) {
      this.path.push(kind);
      this.enter(kind);
    } else if (kind === 'request') throw invalidExport('it must be an object');
    else if (list && firstByte !== LETTER_N) throw invalidExport(`${list} must be an array`);
  }

  private enter(kind: string): void {
    const { groups } = this;
    if (kind === 'resources') groups.list = [];
    else if (kind === 'resourceSpans') {
      groups.beginResource();
      this.groupsBefore = groups.list.length;
    } else if (kind === 'scopes') groups.list.length = this.groupsBefore;
    else if (kind === 'scopeSpans') groups.beginScope();
    else if (kind === 'spans') groups.list.at(-1)!.spans = [];
  }

  private keepFrom(kind: DecodedPart, start: number): void {
    this.kept = { kind, start };
    this.counts.begin(kind);
  }

  private keep({ kind, start }: { kind: DecodedPart; start: number }, end: number): void {
    this.kept = null;
    this.groups.keep(kind, this.counts.end(kind, this.bytes.subarray(start, end)));
  }
}

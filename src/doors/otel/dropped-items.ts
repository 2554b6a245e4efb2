import protobuf from 'protobufjs';
import { CODES, TooDeep } from '../../platform/json/json-grammar.js';
import { JsonScanner, NotJson, type ScanListener } from '../../platform/json/json-scanner.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { type PartialSuccess, responseWriters } from './otlp.js';
import { LENGTH_DELIMITED } from './protobuf-json.js';

/*
 * Counts log records and data points that Skein does not keep, and reports them to the exporter. If nothing of a body
 * is kept, it is not decoded. One pass counts its items and stores only its position.
 */

/**
 * Fields that lead to the items; the last level are the items. Keys are names in JSON, values are numbers in protobuf.
 */
type ItemPath = readonly Readonly<Record<string, number>>[];

export interface DroppedItems {
  path: ItemPath;
  why: string;
}

/** Fields of logs/v1/logs.proto in opentelemetry-proto v1.11.0. */
export const DROPPED_LOGS: DroppedItems = {
  path: [{ resourceLogs: 1 }, { scopeLogs: 2 }, { logRecords: 2 }],
  why:
    'Skein stores log records with messages or evaluations of generative AI (events gen_ai.*, with their span), and events of ' +
    'Claude Code, Codex and Gemini CLI. It does not store other log records.',
};

/** Fields of metrics/v1/metrics.proto in opentelemetry-proto v1.11.0. */
export const DROPPED_METRICS: DroppedItems = {
  path: [
    { resourceMetrics: 1 },
    { scopeMetrics: 2 },
    { metrics: 2 },
    { gauge: 5, sum: 7, histogram: 9, exponentialHistogram: 10, summary: 11 },
    { dataPoints: 1 },
  ],
  why:
    'Skein does not store metrics: it counts calls, tokens, costs and times from spans and events. ' +
    'OTEL_METRICS_EXPORTER=none turns this exporter off.',
};

/** The response in collector/metrics/v1/metrics_service.proto of the same version. */
const { root } = protobuf.parse(`syntax = "proto3";
  message ExportMetricsServiceResponse { ExportMetricsPartialSuccess partial_success = 1; }
  message ExportMetricsPartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }`);
export const metricsResponse = responseWriters(
  root.lookupType('ExportMetricsServiceResponse'),
  'rejectedDataPoints',
);

/** Adds items that are not kept to the report for the exporter. */
export const addDropped = (
  count: number,
  { why }: DroppedItems,
  told: PartialSuccess | null = null,
): PartialSuccess | null =>
  count === 0
    ? told
    : {
        rejectedSpans: count + (told?.rejectedSpans ?? 0),
        errorMessage: told ? `${told.errorMessage}; ${why}` : why,
      };

/**
 * Returns the report for a body of which nothing is kept. In a malformed body, the items before the fault are counted:
 * none of them would be kept anyway.
 */
export async function reportDropped(
  bytes: Uint8Array,
  isBinary: boolean,
  dropped: DroppedItems,
): Promise<PartialSuccess | null> {
  const { path } = dropped;
  const walk = isBinary ? new ProtobufItemCounter(bytes, path) : new JsonItemCounter(bytes, path);
  const turn = new EventLoopTurn();
  try {
    while (walk.next()) if (turn.isOver) await turn.next();
  } catch (error) {
    // protobufjs throws plain errors
    if (!isBinary && !(error instanceof NotJson || error instanceof TooDeep)) throw error;
  }
  return addDropped(walk.count, dropped);
}

/** Number of fields that are read between two checks of the time. */
const FIELDS_AT_ONCE = 1024;

class ProtobufItemCounter {
  count = 0;
  private readonly reader: protobuf.Reader;
  private readonly numbers: readonly number[][];
  /** Ends of the messages that are entered. */
  private readonly ends: number[];

  constructor(bytes: Uint8Array, path: ItemPath) {
    this.reader = protobuf.Reader.create(bytes);
    this.numbers = path.map((level) => Object.values(level));
    this.ends = [bytes.length];
  }

  /**
   * Returns true while bytes are left.
   * @throws Error when the bytes are not a protobuf message
   */
  next(): boolean {
    for (let i = 0; i < FIELDS_AT_ONCE && this.ends.length > 0; i++) this.field(this.ends.at(-1)!);
    return this.ends.length > 0;
  }

  private field(end: number): void {
    const { reader, ends, numbers } = this;
    if (reader.pos >= end) {
      ends.pop();
      return;
    }
    const tag = reader.uint32();
    if ((tag & 7) !== LENGTH_DELIMITED) {
      reader.skipType(tag & 7);
      return;
    }
    const stop = reader.uint32() + reader.pos;
    if (stop > end) throw new RangeError('a field is longer than its message');
    const isOnPath = numbers[ends.length - 1]!.includes(tag >>> 3);
    if (isOnPath && ends.length < numbers.length) {
      ends.push(stop);
      return;
    }
    if (isOnPath) this.count++;
    reader.pos = stop;
  }
}

const { OPEN_BRACE, OPEN_BRACKET } = CODES;
/** Number of bytes that are scanned between two checks of the time. */
const SCANNED_AT_ONCE = 256 * 1024;

class JsonItemCounter implements ScanListener {
  count = 0;
  private readonly scanner = new JsonScanner(this);
  private at = 0;
  private name = '';
  /** Entered containers with their level on the path. A list and its elements have the same level. */
  private readonly open: { level: number; isList: boolean }[] = [];

  constructor(
    private readonly bytes: Uint8Array,
    private readonly path: ItemPath,
  ) {}

  /**
   * Returns true while bytes are left.
   * @throws NotJson, TooDeep
   */
  next(): boolean {
    this.scanner.write(this.bytes.subarray(this.at, this.at + SCANNED_AT_ONCE));
    this.at += SCANNED_AT_ONCE;
    return this.at < this.bytes.length;
  }

  key(key: string): void {
    this.name = key;
  }

  valueStart(_at: number, firstByte: number): void {
    const level = this.level();
    const isList = firstByte === OPEN_BRACKET;
    if (level < 0 || (firstByte !== OPEN_BRACE && !isList)) return;
    if (level === this.path.length && !isList) this.count++;
    else this.open.push({ level, isList });
    this.scanner.watch = this.open.length;
  }

  valueEnd(_end: number, depth: number): void {
    if (depth < this.open.length) this.open.pop();
    this.scanner.watch = this.open.length;
  }

  /** Returns the level of the value that begins, or -1 when it is not on the path. */
  private level(): number {
    const parent = this.open.at(-1);
    if (!parent) return 0;
    if (parent.isList) return parent.level;
    return Object.hasOwn(this.path[parent.level]!, this.name) ? parent.level + 1 : -1;
  }
}

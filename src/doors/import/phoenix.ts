import { isObject } from '../../platform/json/json-object.js';
import { elementTexts, memberTexts } from '../../platform/json/json-text.js';
import { SpansBatch } from './otlp-json.js';
import type { FileRecord } from './records.js';
import { ImportBatch, type Importer, type ImportTally, InvalidRecord } from './import-batch.js';
import type { TargetService } from './target-service.js';

type Json = Record<string, unknown>;

/**
 * Imports exports of Phoenix: spans as its API returns them (also pages `{data: […]}`), and data frames of spans as
 * JSON records or JSONL. Annotations of spans and traces become feedback.
 */
export class PhoenixImport implements Importer {
  private readonly spans: SpansBatch;
  private readonly scores: ImportBatch;

  constructor(
    service: TargetService,
    private readonly tally: ImportTally,
  ) {
    this.spans = new SpansBatch(service, tally);
    this.scores = new ImportBatch(async (items) => {
      const body = `[${items.map(({ text }) => text).join(',')}]`;
      const { errors } = (await service.post('/api/public/scores', body)) as {
        errors?: { message: string }[];
      };
      return errors?.[0] && { why: errors[0].message };
    }, tally);
  }

  async add({ text, line }: FileRecord): Promise<void> {
    const list = memberTexts(text).get('data');
    if (list?.startsWith('[')) for (const item of elementTexts(list)) await this.addOne(item, line);
    else await this.addOne(text, line);
  }

  /** Sends annotations after the spans to which they belong. */
  async flush(): Promise<void> {
    await this.spans.flush();
    await this.scores.flush();
  }

  private async addOne(text: string, line: number): Promise<void> {
    const record = JSON.parse(text) as Json;
    if (isObject(record['result'])) {
      this.tally.count('annotations');
      const what = `annotation ${String(record['id'])}`;
      await this.scores.add({ line, what, text: JSON.stringify(readScore(record)) });
      return;
    }
    const span = readSpan(record);
    this.tally.count('spans');
    const resource = { scopeSpans: [{ spans: [span] }] };
    await this.spans.add({ line, what: `span ${span.spanId}`, text: JSON.stringify(resource) });
  }
}

/** Converts an annotation into a score of Langfuse, which the service stores as feedback. */
function readScore(record: Json): Json {
  const { label, score, explanation } = record['result'] as Json;
  const { id, name, metadata, identifier, annotator_kind, span_id, trace_id, created_at } = record;
  return {
    id,
    name,
    value: score ?? label,
    ...(span_id ? { observationId: span_id } : { traceId: trace_id }),
    label,
    comment: explanation,
    metadata,
    identifier,
    annotator_kind,
    created_at,
  };
}

const STATUS: Record<string, number> = { OK: 1, ERROR: 2 };

/** Converts a span into OTLP/JSON. A data frame names each column by the path of its value. */
function readSpan(record: Json) {
  const context = isObject(record['context']) ? record['context'] : {};
  const readId = (name: string) => {
    const id = record[`context.${name}`] ?? context[name];
    if (typeof id !== 'string') throw new InvalidRecord('is not a span or annotation of Phoenix');
    return id;
  };
  const events = Array.isArray(record['events']) ? (record['events'] as Json[]) : [];
  const code = STATUS[String(record['status_code'])];
  return {
    traceId: readId('trace_id'),
    spanId: readId('span_id'),
    ...(record['parent_id'] ? { parentSpanId: record['parent_id'] } : {}),
    name: record['name'],
    startTimeUnixNano: toNanoseconds(record['start_time']),
    ...(record['end_time'] ? { endTimeUnixNano: toNanoseconds(record['end_time']) } : {}),
    attributes: keyValues(readAttributes(record)),
    events: events.map(({ name, timestamp, attributes }) => ({
      name,
      timeUnixNano: toNanoseconds(timestamp),
      attributes: keyValues(flattened(attributes)),
    })),
    ...(code && { status: { code, message: record['status_message'] ?? '' } }),
  };
}

function readAttributes(record: Json): Map<string, unknown> {
  const attributes = flattened(record['attributes']);
  for (const [name, value] of Object.entries(record))
    if (name.startsWith('attributes.'))
      flatten(name.slice('attributes.'.length), value, attributes);
  const kind = record['span_kind'];
  if (kind && !attributes.has('openinference.span.kind'))
    attributes.set('openinference.span.kind', kind);
  return attributes;
}

function flattened(attributes: unknown): Map<string, unknown> {
  const into = new Map<string, unknown>();
  if (isObject(attributes))
    for (const [name, value] of Object.entries(attributes)) flatten(name, value, into);
  return into;
}

/**
 * Flattens objects, and lists of objects, as OpenInference does: `llm.input_messages.0.message.role`. Null values are
 * skipped: in a data frame they belong to columns of other spans.
 */
function flatten(name: string, value: unknown, into: Map<string, unknown>): void {
  if (value === null || value === undefined) return;
  if (isObject(value) || (Array.isArray(value) && value.some(isObject)))
    for (const [key, inner] of Object.entries(value)) flatten(`${name}.${key}`, inner, into);
  else into.set(name, value);
}

const keyValues = (attributes: Map<string, unknown>) =>
  [...attributes].map(([key, value]) => ({ key, value: anyValue(value) }));

function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/**
 * Converts a time to nanoseconds since 1970. ISO 8601 times may have nine digits of fraction; the unit of a number from
 * a data frame follows from its size.
 */
function toNanoseconds(time: unknown): string {
  if (typeof time === 'number' || (typeof time === 'string' && /^\d+$/.test(time))) {
    let nanos = BigInt(Math.round(Number(time)));
    while (nanos > 0n && nanos < 100_000_000_000_000_000n) nanos *= 1000n;
    return String(nanos);
  }
  const [, seconds, fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?$/.exec(
      String(time),
    ) ?? [];
  const ms = Date.parse(`${seconds?.replace(' ', 'T')}${zone}`);
  if (Number.isNaN(ms)) throw new InvalidRecord(`${JSON.stringify(time)} is not a time`);
  return String(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0')));
}

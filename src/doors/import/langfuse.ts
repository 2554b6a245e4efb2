import { isObject } from '../../platform/json/json-object.js';
import { elementTexts, memberTexts, objectText } from '../../platform/json/json-text.js';
import type { FileRecord } from './records.js';
import {
  ImportBatch,
  type Importer,
  type ImportItem,
  type ImportTally,
  InvalidRecord,
} from './import-batch.js';
import type { TargetService } from './target-service.js';

/** The kind of a record. A trace may contain its observations and scores. */
type RecordKind = 'trace' | 'observation' | 'score';

type Texts = Map<string, string>;

/** Members that are sent, with their names in an ingestion event. */
const SENT: Record<RecordKind, readonly string[]> = {
  trace: [
    'id',
    'name',
    'timestamp',
    'startTime',
    'endTime',
    'input',
    'output',
    'metadata',
    'tags',
    'userId',
    'sessionId',
    'release',
    'version',
    'environment',
  ],
  observation: [
    'id',
    'traceId',
    'parentObservationId',
    'name',
    'startTime',
    'endTime',
    'completionStartTime',
    'input',
    'output',
    'metadata',
    'level',
    'statusMessage',
    'version',
    'environment',
    'model',
    'modelParameters',
    'usageDetails',
    'costDetails',
    'promptName',
    'promptVersion',
  ],
  score: [
    'id',
    'name',
    'value',
    'traceId',
    'observationId',
    'comment',
    'dataType',
    'source',
    'metadata',
    'environment',
  ],
};

/** Members that may come as JSON within a string. */
const DOCUMENTS = new Set(['input', 'output', 'metadata', 'modelParameters']);

/**
 * Imports exports of Langfuse:
 * - `{trace, observations}`, and traces with their observations and scores, as the interface and the API return them;
 * - lists of one kind, JSON or JSONL, also with the names of the blob storage export (`trace_id`);
 * - pages of the API (`{data: […]}`).
 */
export class LangfuseImport implements Importer {
  private readonly batch: ImportBatch;

  constructor(
    service: TargetService,
    private readonly tally: ImportTally,
  ) {
    this.batch = new ImportBatch((items) => this.send(service, items), tally);
  }

  async add({ text, line }: FileRecord): Promise<void> {
    for (const { kind, texts, at } of readEntities(text)) {
      const id = texts.get('id') ?? 'null';
      const body = objectText(eventBody(kind, texts));
      const type = kind === 'observation' ? observationType(texts) : kind;
      const event = {
        type: `${type}-create`,
        ...(Number.isNaN(Date.parse(at)) ? {} : { timestamp: new Date(at).toISOString() }),
      };
      this.tally.count(`${kind}s`);
      await this.batch.add({
        line,
        what: `${kind} ${String(JSON.parse(id))}`,
        text: `${JSON.stringify(event).slice(0, -1)},"body":${body}}`,
      });
    }
  }

  flush(): Promise<void> {
    return this.batch.flush();
  }

  /** Sends the items as events. The service judges each event on its own; its id is its index in the batch. */
  private async send(service: TargetService, items: readonly ImportItem[]): Promise<undefined> {
    const events = items.map(({ text }, i) => `{"id":"${i}",${text.slice(1)}`);
    const answer = await service.post('/api/public/ingestion', `{"batch":[${events.join(',')}]}`);
    const { errors } = answer as { errors: { id: string; message: string }[] };
    for (const { id, message: why } of errors) this.tally.refuse(items[Number(id)]!, { why });
  }
}

interface LangfuseEntity {
  kind: RecordKind;
  texts: Texts;
  /** The time of the event. For a trace this is its end. */
  at: string;
}

function readEntities(text: string): LangfuseEntity[] {
  const texts = memberMap(text);
  const data = texts.get('data');
  if (data?.startsWith('[')) return elementTexts(data).flatMap(readEntities);
  const observations = texts.get('observations');
  const scores = texts.get('scores');
  const inner = texts.get('trace');
  if (observations === undefined && inner === undefined) return [readEntity(texts)];
  const trace = inner?.startsWith('{') ? memberMap(inner) : texts;
  const below = itemTexts(observations ?? '[]').filter((item) => item.startsWith('{'));
  const said = itemTexts(scores ?? trace.get('scores') ?? '[]').filter((item) =>
    item.startsWith('{'),
  );
  const children = below.map((item): LangfuseEntity => readChild('observation', item, trace));
  const ends = children.map(({ texts: child }) => readString(child, 'endTime') ?? '');
  return [
    traceEntity(trace, ends),
    ...children,
    ...said.map((item): LangfuseEntity => readChild('score', item, trace)),
  ];
}

function readEntity(texts: Texts): LangfuseEntity {
  const kind = recognizeKind(texts);
  if (!kind) throw new InvalidRecord('is not a trace, observation or score of Langfuse');
  return kind === 'trace' ? traceEntity(texts, []) : { kind, texts, at: startTime(texts) };
}

/** Sets `startTime` and `endTime` of a trace whose duration is known from itself or from its observations. */
function traceEntity(trace: Texts, ends: readonly string[]): LangfuseEntity {
  const [start, end] = [startTime(trace), latestEnd(trace, ends)];
  const texts = new Map(trace);
  if (end !== start)
    for (const [name, time] of Object.entries({ startTime: start, endTime: end }))
      texts.set(name, JSON.stringify(time));
  return { kind: 'trace', texts, at: end };
}

function recognizeKind(texts: Texts): RecordKind | undefined {
  if (!texts.has('id')) return undefined;
  if (texts.has('startTime') && texts.has('type')) return 'observation';
  if (texts.has('value') || texts.has('stringValue')) return 'score';
  return texts.has('timestamp') ? 'trace' : undefined;
}

function readChild(kind: RecordKind, text: string, trace: Texts): LangfuseEntity {
  const texts = memberMap(text);
  if (!texts.has('traceId')) texts.set('traceId', trace.get('id') ?? 'null');
  return { kind, texts, at: startTime(texts) };
}

/** Returns the texts of the members by name, with `trace_id` as `traceId`. Members that are null are left out. */
function memberMap(text: string): Texts {
  const members: Texts = new Map();
  for (const [name, value] of memberTexts(text))
    if (value !== 'null')
      members.set(
        name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        value,
      );
  return members;
}

const itemTexts = (text: string): string[] => (text.startsWith('[') ? elementTexts(text) : []);

function readString(texts: Texts, name: string): string | undefined {
  const text = texts.get(name);
  return text?.startsWith('"') ? (JSON.parse(text) as string) : undefined;
}

const startTime = (texts: Texts) =>
  readString(texts, 'startTime') ?? readString(texts, 'timestamp') ?? new Date(0).toISOString();

/** Returns the latest end of the observations, else the start plus the trace's `latency` in seconds. */
function latestEnd(trace: Texts, ends: readonly string[]): string {
  const start = startTime(trace);
  const last = ends.toSorted((a, b) => Date.parse(a || start) - Date.parse(b || start)).at(-1);
  if (last) return last;
  const seconds = Number(trace.get('latency'));
  return seconds > 0 ? new Date(Date.parse(start) + seconds * 1000).toISOString() : start;
}

const observationType = (texts: Texts) => (readString(texts, 'type') ?? 'span').toLowerCase();

function eventBody(kind: RecordKind, texts: Texts): Texts {
  const all = new Map(texts);
  const model = texts.get('model') ?? texts.get('providedModelName');
  if (model !== undefined) all.set('model', model);
  if (kind === 'score' && !texts.has('value')) all.set('value', texts.get('stringValue')!);
  if (kind === 'observation') all.set('usageDetails', usageText(texts));
  const sent: Texts = new Map();
  for (const name of SENT[kind]) {
    const value = all.get(name);
    if (value === undefined || value === '{}' || (name === 'level' && value === '"DEFAULT"'))
      continue;
    sent.set(name, DOCUMENTS.has(name) ? unwrapped(value) : value);
  }
  return sent;
}

/** Returns the usage. Older exports store the counts in members of the observation. */
function usageText(texts: Texts): string {
  const details = texts.get('usageDetails');
  if (details !== undefined && details !== '{}') return unwrapped(details);
  const counts = {
    input: Number(texts.get('inputUsage') ?? texts.get('promptTokens') ?? 0),
    output: Number(texts.get('outputUsage') ?? texts.get('completionTokens') ?? 0),
  };
  return counts.input + counts.output > 0 ? JSON.stringify(counts) : '{}';
}

/** Unwraps JSON inside a string, at most twice. The spelling of the inner JSON is kept. */
function unwrapped(value: string): string {
  let text = value;
  for (let level = 0; level < 2 && text.startsWith('"'); level++) {
    const inner = (JSON.parse(text) as string).trim();
    if (!/^[[{"]/.test(inner) || !isJson(inner)) return text;
    text = inner;
  }
  return text;
}

function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) || Array.isArray(value) || typeof value === 'string';
  } catch {
    return false;
  }
}

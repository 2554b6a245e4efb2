import { ChunkBuffer } from './chunk-buffer.js';

export interface StreamTransform {
  readonly contentType: string;
  /** Returns the text to send before the first bytes of the provider. */
  first(callId: string | null): string;
  /** Returns the bytes that can be sent now. */
  pass(chunk: Buffer): Buffer;
  /** Returns the remaining bytes when the provider has ended. They complete the stream for the client. */
  rest(): Buffer;
  /** Returns the text that reports a broken answer to the client. */
  failure(message: string): string;
}

const NONE = Buffer.alloc(0);
/** Beginnings of the line that starts the last event. */
const DONE = ['data: [DONE]', 'data:[DONE]'];
const RESPONSE_DONE = ['completed', 'incomplete', 'failed'].flatMap((how) => [
  `event: response.${how}`,
  `event:response.${how}`,
]);
const END = Buffer.from('\n\n');
const WINDOWS_END = Buffer.from('\r\n\r\n');
/** Bytes that are kept to find the end of an event that is split over two chunks: its length less one. */
const SEAM = WINDOWS_END.length - 1;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** Limit for a held event. An event that reports usage is never this long. */
const MAX_HELD_BYTES = 64 * 1024;

/** Holds bytes until their event is complete. */
export class EventBuffer extends ChunkBuffer {
  /** The last `SEAM` bytes, where the end of an event may have begun. */
  private last = NONE;

  override add(bytes: Buffer): void {
    super.add(bytes);
    this.last = Buffer.concat([this.last, bytes.subarray(-SEAM)]).subarray(-SEAM);
  }

  override take(): Buffer {
    this.last = NONE;
    return super.take();
  }

  /** Returns all held bytes up to the end of the last complete event. Only new bytes are searched. */
  events(chunk: Buffer): Buffer {
    const before = this.last.length;
    const end = eventsEnd(before === 0 ? chunk : Buffer.concat([this.last, chunk])) - before;
    if (end <= 0) {
      this.add(chunk);
      return NONE;
    }
    super.add(chunk.subarray(0, end));
    const events = this.take();
    this.add(chunk.subarray(end));
    return events;
  }
}

/**
 * Passes events on unchanged. The event that ends the stream is held back until the call is recorded. If the client did
 * not request usage, the event with the usage is removed, because clients do not expect its empty `choices`. An
 * incomplete event waits for its end only in this case; otherwise all bytes are sent at once.
 */
export class EventStreamTransform implements StreamTransform {
  readonly contentType = 'text/event-stream';
  private readonly held = new EventBuffer();
  private isDone = false;

  constructor(
    private readonly hidesUsage: boolean,
    private readonly ends = DONE,
  ) {}

  first(): string {
    return '';
  }

  pass(chunk: Buffer): Buffer {
    if (this.isDone) {
      this.held.add(chunk);
      return NONE;
    }
    return this.hidesUsage ? this.passEvents(chunk) : this.passBytes(chunk);
  }

  rest(): Buffer {
    return this.held.take();
  }

  failure(message: string): string {
    const error = { message, type: 'server_error', param: null, code: 'provider_failed' };
    return `data: ${JSON.stringify({ error })}\n\n`;
  }

  private passBytes(chunk: Buffer): Buffer {
    this.held.add(chunk);
    const bytes = this.held.take();
    const doneAt = lastEventAt(bytes, this.ends);
    this.isDone = doneAt !== undefined;
    const end = doneAt ?? openLineAt(bytes, this.ends);
    this.held.add(bytes.subarray(end));
    return end === bytes.length ? bytes : bytes.subarray(0, end);
  }

  private passEvents(chunk: Buffer): Buffer {
    let events = this.held.events(chunk);
    if (this.held.length > MAX_HELD_BYTES) events = Buffer.concat([events, this.held.take()]);
    const doneAt = lastEventAt(events, this.ends);
    if (doneAt === undefined) return withoutUsage(events);
    this.isDone = true;
    const behind = this.held.take();
    this.held.add(events.subarray(doneAt));
    this.held.add(behind);
    return withoutUsage(events.subarray(0, doneAt));
  }
}

/** Passes events of the Responses API on. Their last event is known by its type, and errors are typed events too. */
export class ResponseStreamTransform extends EventStreamTransform {
  constructor() {
    super(false, RESPONSE_DONE);
  }

  override failure(message: string): string {
    const error = { type: 'server_error', code: 'provider_failed', message, param: null };
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', error })}\n\n`;
  }
}

function lastEventAt(bytes: Buffer, ends: readonly string[]): number | undefined {
  for (const end of ends) {
    const at = bytes.lastIndexOf(end, undefined, 'latin1');
    if (at >= 0 && lineStart(bytes, at) === at) return at;
  }
  return undefined;
}

/** Returns the start of the last line if further bytes could make it the end event, else the length of `bytes`. */
function openLineAt(bytes: Buffer, ends: readonly string[]): number {
  const line = lineStart(bytes, bytes.length);
  if (line === bytes.length || bytes.length - line > MAX_END) return bytes.length;
  const text = bytes.toString('latin1', line);
  return ends.some((end) => end.startsWith(text)) ? line : bytes.length;
}

/** Longer than every text of `DONE` and `RESPONSE_DONE`. */
const MAX_END = 32;

const lineStart = (bytes: Buffer, at: number) =>
  at === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 1) + 1;

/** Returns the position after the last complete event. */
function eventsEnd(bytes: Buffer): number {
  const plain = bytes.lastIndexOf(END);
  const windows = bytes.lastIndexOf(WINDOWS_END);
  return Math.max(
    plain < 0 ? 0 : plain + END.length,
    windows < 0 ? 0 : windows + WINDOWS_END.length,
  );
}

function withoutUsage(events: Buffer): Buffer {
  if (!NO_CHOICES.test(events.toString('latin1'))) return events;
  const parts = events.toString('utf8').split(/(?<=\r?\n\r?\n)/);
  return Buffer.from(parts.filter((event) => !isUsage(event)).join(''));
}

function isUsage(event: string): boolean {
  if (!NO_CHOICES.test(event)) return false;
  const [payload] = eventData(event);
  try {
    const { choices, usage } = JSON.parse(payload!) as { choices?: unknown[]; usage?: unknown };
    return choices?.length === 0 && usage !== null && usage !== undefined;
  } catch {
    return false;
  }
}

/** Number of lines between two pauses. */
const LINES_AT_ONCE = 256;

/** Yields the data of each event. Yields null at intervals, so that a long loop can pause. */
export function* eventPayloads(text: string): Generator<string | null> {
  let data: string | null = null;
  let lines = 0;
  for (let at = 0; at < text.length;) {
    if (++lines % LINES_AT_ONCE === 0) yield null;
    const feed = text.indexOf('\n', at);
    const end = feed < 0 ? text.length : feed;
    const isEmpty = end === at || (end === at + 1 && text.charCodeAt(at) === CARRIAGE_RETURN);
    if (isEmpty && data !== null) {
      yield data;
      data = null;
    } else if (text.startsWith('data:', at)) {
      const line = text.slice(at + 5, end).trim();
      data = data === null ? line : `${data}\n${line}`;
    }
    at = end + 1;
  }
  if (data !== null) yield data;
}

/** Returns the data of all events at once, without pauses. */
export const eventData = (text: string): string[] =>
  [...eventPayloads(text)].filter((data) => data !== null);

/** Converts events into JSON lines with their data. The event `[DONE]` is left out. */
export class JsonLinesTransform implements StreamTransform {
  readonly contentType = 'application/jsonl';
  private readonly held = new EventBuffer();

  constructor(private readonly meta: (callId: string) => object) {}

  first(callId: string | null): string {
    return callId === null ? '' : `${JSON.stringify({ _meta: this.meta(callId) })}\n`;
  }

  pass(chunk: Buffer): Buffer {
    return Buffer.from(asLines(this.held.events(chunk).toString()));
  }

  rest(): Buffer {
    return Buffer.from(asLines(this.held.take().toString()));
  }

  failure(message: string): string {
    return `${JSON.stringify({ error: message })}\n`;
  }
}

const asLines = (events: string) =>
  eventData(events)
    .filter((payload) => payload !== '[DONE]' && payload !== '')
    .map((payload) => `${payload.replaceAll('\n', ' ')}\n`)
    .join('');

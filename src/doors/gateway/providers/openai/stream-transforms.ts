import { EventBuffer, eventData, type StreamTransform } from '../../relaying/event-stream.js';

const NONE = Buffer.alloc(0);
/** Beginnings of the line that starts the last event. */
const DONE = ['data: [DONE]', 'data:[DONE]'];
const RESPONSE_DONE = ['completed', 'incomplete', 'failed'].flatMap((how) => [
  `event: response.${how}`,
  `event:response.${how}`,
]);
/** Longer than every text of `DONE` and `RESPONSE_DONE`. */
const MAX_END = 32;
const LINE_FEED = 0x0a;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** Limit for a held event. An event that reports usage is never this long. */
const MAX_HELD_BYTES = 64 * 1024;

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

const lineStart = (bytes: Buffer, at: number) =>
  at === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 1) + 1;

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

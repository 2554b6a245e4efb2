import { ChunkBuffer } from './chunk-buffer.js';

/** Changes a stream for the client while it is relayed. */
export interface StreamTransform {
  readonly contentType: string;
  /** Text to send before the first bytes of the provider. */
  readonly head?: string;
  /** Returns the bytes that can be sent now. */
  pass(chunk: Buffer): Buffer;
  /** Returns the remaining bytes when the provider has ended. They complete the stream for the client. */
  rest(): Buffer;
  /** Returns the text that reports a broken answer to the client. */
  failure(message: string): string;
}

const NONE = Buffer.alloc(0);
const END = Buffer.from('\n\n');
const WINDOWS_END = Buffer.from('\r\n\r\n');
/** Bytes that are kept to find the end of an event that is split over two chunks: its length less one. */
const SEAM = WINDOWS_END.length - 1;
const CARRIAGE_RETURN = 0x0d;

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

/** Returns the position after the last complete event. */
function eventsEnd(bytes: Buffer): number {
  const plain = bytes.lastIndexOf(END);
  const windows = bytes.lastIndexOf(WINDOWS_END);
  return Math.max(
    plain < 0 ? 0 : plain + END.length,
    windows < 0 ? 0 : windows + WINDOWS_END.length,
  );
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

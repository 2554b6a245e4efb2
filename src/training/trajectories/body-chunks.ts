import { ByteBuffer } from '../byte-buffer.js';

/*
 * How a body with trajectory groups is kept. What a trainer reads is JSONL: the groups, each on a line of its own. So
 * the body is cut into chunks of that text, and each carries the edits that lead back to the body as it was sent: what
 * stood between the groups, and the raw line breaks that became blanks. One copy serves both, byte for byte.
 */

/** A piece of the body. */
export interface BodyChunk {
  /** Lines for the trainer, or a part of one. */
  text: Buffer;
  /** What `restored` needs beside `text`; empty when the piece of the body is the text. */
  edits: Buffer;
  /** False where the trainer does not get the text: it is empty, or a later key of the same name replaced it. */
  isPayload: boolean;
}

/** A chunk is cut when its text or its edits reach this size. */
const CHUNK_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;

/** Cuts a body into chunks as it comes. Memory is one chunk and what was not taken yet. */
export class BodyCutter {
  chunks: BodyChunk[] = [];
  private readonly text = new ByteBuffer();
  private readonly edits = new ByteBuffer();
  /** End of the text that the edits so far cover. */
  private edited = 0;

  /** Bytes of a group. */
  addGroup(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i += CHUNK_BYTES) {
      const start = this.text.length;
      this.text.append(bytes.subarray(i, i + CHUNK_BYTES));
      this.blankLineBreaks(start);
      this.cutWhenFull();
    }
  }

  /** Bytes of the body that belong to no group. */
  addFrame(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i += CHUNK_BYTES) {
      this.edit(this.text.length, 0, bytes.subarray(i, i + CHUNK_BYTES));
      this.cutWhenFull();
    }
  }

  /** After the last byte of a group. */
  endLine(): void {
    this.text.append(Uint8Array.of(LINE_FEED));
    this.edit(this.text.length - 1, 1, new Uint8Array());
  }

  /** What is left becomes a chunk. */
  cut(): void {
    if (this.text.length + this.edits.length === 0) return;
    const text = this.text.take();
    this.chunks.push({ text, edits: this.edits.take(), isPayload: text.length > 0 });
    this.edited = 0;
  }

  /** The groups so far do not count. Chunks that were taken already are the taker's to mark. */
  repeal(): void {
    this.cut();
    for (const chunk of this.chunks) chunk.isPayload = false;
  }

  private cutWhenFull(): void {
    if (this.text.length >= CHUNK_BYTES || this.edits.length >= CHUNK_BYTES) this.cut();
  }

  /** In a group a raw line break stands between tokens only, where a blank says the same. */
  private blankLineBreaks(start: number): void {
    const { bytes } = this.text;
    if (bytes.indexOf(LINE_FEED, start) < 0 && bytes.indexOf(CARRIAGE_RETURN, start) < 0) return;
    for (let at = start; at < bytes.length; at++) {
      if (bytes[at] !== LINE_FEED && bytes[at] !== CARRIAGE_RETURN) continue;
      this.edit(at, 1, bytes.subarray(at, at + 1));
      bytes[at] = BLANK;
    }
  }

  /** In place of `removed` bytes of the text at `at`, the body has `inserted`. */
  private edit(at: number, removed: number, inserted: Uint8Array): void {
    this.edits.append(varints(at - this.edited, removed, inserted.length));
    this.edits.append(inserted);
    this.edited = at + removed;
  }
}

/** The piece of the body as it was sent. */
export function restored({ text, edits }: Pick<BodyChunk, 'text' | 'edits'>): Buffer {
  const body = new ByteBuffer();
  let at = 0;
  let i = 0;
  const next = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = edits[i++]!;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (i < edits.length) {
    const [kept, removed, inserted] = [next(), next(), next()];
    body.append(text.subarray(at, at + kept));
    body.append(edits.subarray(i, i + inserted));
    at += kept + removed;
    i += inserted;
  }
  body.append(text.subarray(at));
  return body.take();
}

/** Numbers in groups of seven bits, the lowest first; the high bit says that more follow. */
function varints(...values: number[]): Uint8Array {
  const bytes: number[] = [];
  for (let value of values) {
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
    bytes.push(value);
  }
  return Uint8Array.from(bytes);
}

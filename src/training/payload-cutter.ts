import { ByteBuffer } from './byte-buffer.js';

/** A chunk is cut when its text reaches this size. */
const CHUNK_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;

/** A piece of a payload, and how many groups end before it. */
export interface PayloadChunk {
  text: Buffer;
  groupsBefore: number;
}

/**
 * Makes the payload of a body as it comes, in chunks: what a trainer reads is JSONL, the groups as they were sent, each
 * on a line of its own. Memory is one chunk and what was not taken yet.
 */
export class PayloadCutter {
  chunks: PayloadChunk[] = [];
  private groups = 0;
  private groupsBefore = 0;
  private readonly text = new ByteBuffer();

  /** Bytes of a group. */
  addGroup(bytes: Uint8Array): void {
    this.add(bytes, (start) => this.blankLineBreaks(start));
  }

  /** After the last byte of a group. */
  endLine(): void {
    this.text.append(Uint8Array.of(LINE_FEED));
    this.groups++;
  }

  /** A line as it was sent, with its line break if it has one. */
  addLine(bytes: Uint8Array): void {
    this.add(bytes);
    this.groups++;
  }

  /** What is left becomes a chunk. */
  cut(): void {
    if (this.text.length > 0)
      this.chunks.push({ text: this.text.take(), groupsBefore: this.groupsBefore });
    this.groupsBefore = this.groups;
  }

  /** The groups so far do not count. Chunks that were taken already are the taker's to delete. */
  repeal(): void {
    this.text.clear();
    this.chunks = [];
    this.groups = this.groupsBefore = 0;
  }

  private add(bytes: Uint8Array, edit?: (start: number) => void): void {
    for (let i = 0; i < bytes.length; i += CHUNK_BYTES) {
      const start = this.text.length;
      this.text.append(bytes.subarray(i, i + CHUNK_BYTES));
      edit?.(start);
      if (this.text.length >= CHUNK_BYTES) this.cut();
    }
  }

  /** In a group a raw line break stands between tokens only, where a blank says the same. */
  private blankLineBreaks(start: number): void {
    const { bytes } = this.text;
    for (let at = start; at < bytes.length; at++)
      if (bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN) bytes[at] = BLANK;
  }
}

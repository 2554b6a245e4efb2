import { ByteBuffer } from './byte-buffer.js';

/** Text length at which a chunk is cut. */
const CHUNK_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;

/** A piece of a payload, and the number of groups that end before it. */
export interface PayloadChunk {
  text: Buffer;
  groupsBefore: number;
}

/**
 * Makes the payload of a body while it arrives, in chunks. Trainers read JSONL: the groups as they were sent, each on
 * its own line. Memory: one chunk, and the chunks that the caller has not taken yet.
 */
export class PayloadCutter {
  chunks: PayloadChunk[] = [];
  private groups = 0;
  private groupsBefore = 0;
  private readonly text = new ByteBuffer();

  addGroup(bytes: Uint8Array): void {
    this.add(bytes, (start) => this.blankLineBreaks(start));
  }

  endLine(): void {
    this.text.append(Uint8Array.of(LINE_FEED));
    this.groups++;
  }

  /** Adds a line as it was sent, with its line break if it has one. */
  addLine(bytes: Uint8Array): void {
    this.add(bytes);
    this.groups++;
  }

  cut(): void {
    if (this.text.length > 0)
      this.chunks.push({ text: this.text.take(), groupsBefore: this.groupsBefore });
    this.groupsBefore = this.groups;
  }

  /** Discards all groups so far. The caller deletes the chunks that it has taken already. */
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

  /** Replaces line breaks with blanks. Inside a group, raw line breaks occur between JSON tokens only. */
  private blankLineBreaks(start: number): void {
    const { bytes } = this.text;
    for (let at = start; at < bytes.length; at++)
      if (bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN) bytes[at] = BLANK;
  }
}

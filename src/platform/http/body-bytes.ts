/**
 * Bodies up to this size keep the chunks they arrived in. Larger ones are copied: a Buffer of one byte takes about a
 * hundred.
 */
const FEW_CHUNKS = 16;
const FEW_BYTES = 512 * 1024;
const STEP_BYTES = 256 * 1024;

/**
 * Collects the bytes of a body, up to a limit. A large body is kept in one buffer, which grows in place and which
 * `freeBytes` releases. V8 would collect it much later: it collects when its heap grows, and a buffer takes almost
 * nothing of the heap.
 */
export class BodyBytes {
  length = 0;
  private chunks: Buffer[] = [];
  private buffer: ArrayBuffer | null = null;

  constructor(private readonly limit: number) {}

  add(chunk: Buffer): void {
    const isFew = this.chunks.length < FEW_CHUNKS && this.length + chunk.length <= FEW_BYTES;
    if (!this.buffer && isFew) {
      this.chunks.push(chunk);
      this.length += chunk.length;
      return;
    }
    if (!this.buffer) {
      this.buffer = new ArrayBuffer(0, { maxByteLength: this.limit });
      const bytes = Buffer.concat(this.chunks);
      this.chunks = [];
      this.length = 0;
      this.append(bytes);
    }
    this.append(chunk);
  }

  joined(): Buffer {
    if (this.buffer) return Buffer.from(this.buffer, 0, this.length);
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
  }

  private append(chunk: Buffer): void {
    const buffer = this.buffer!;
    const length = this.length + chunk.length;
    if (length > buffer.byteLength) buffer.resize(Math.min(this.limit, length + STEP_BYTES));
    new Uint8Array(buffer, this.length, chunk.length).set(chunk);
    this.length = length;
  }
}

/** Releases the memory of a large body; the buffer is empty afterwards. Small bodies are left to V8. */
export function freeBytes({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.resizable) buffer.resize(0);
}

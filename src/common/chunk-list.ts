/** Many smaller chunks are copied: while it is kept, a Buffer of one byte takes some hundred bytes. */
const SMALL_BYTES = 4096;
const FEW = 16;
const BLOCK_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** The chunks of a body as they come. Nothing is allocated for large ones until they are joined. */
export class ChunkList {
  length = 0;
  private readonly chunks: Buffer[] = [];
  private block = NOTHING;
  /** Bytes of the block that are not in `chunks` yet. */
  private used = 0;

  add(chunk: Buffer): void {
    this.length += chunk.length;
    if (chunk.length >= SMALL_BYTES || this.chunks.length < FEW) {
      this.flush();
      this.chunks.push(chunk);
      return;
    }
    if (this.used + chunk.length > this.block.length) {
      this.flush();
      this.block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.used += chunk.copy(this.block, this.used);
  }

  joined(): Buffer {
    this.flush();
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
  }

  private flush(): void {
    if (this.used === 0) return;
    this.chunks.push(this.block.subarray(0, this.used));
    this.block = this.block.subarray(this.used);
    this.used = 0;
  }
}

/** Capacity above this is released when the buffer is emptied. */
const KEPT_BYTES = 1024 * 1024;

/** Collects bytes piece by piece. Copies them, so that no slice keeps a whole network chunk in memory. */
export class ByteBuffer {
  private room = Buffer.allocUnsafe(1024);
  length = 0;

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.room.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** The bytes without a copy. Valid until the next change. */
  get bytes(): Buffer {
    return this.room.subarray(0, this.length);
  }

  /** Returns a copy of the bytes, and empties the buffer. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes);
    this.clear();
    return taken;
  }

  clear(): void {
    this.length = 0;
    if (this.room.length > KEPT_BYTES) this.room = Buffer.allocUnsafe(1024);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.room.length) return;
    const room = Buffer.allocUnsafe(Math.max(this.length + bytes, 2 * this.room.length));
    this.room.copy(room, 0, 0, this.length);
    this.room = room;
  }
}

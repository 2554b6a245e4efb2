/** A piece of a byte takes a hundred times as much, so small ones are joined when there are so many. */
const MAX_LOOSE = 256;

/** Bytes that come in pieces and are taken together. Each is copied twice at most, and they take little more than their length. */
export class ChunkBuffer {
  private joined: Buffer[] = [];
  private loose: Buffer[] = [];
  length = 0;

  add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.length += bytes.length;
    if (this.loose.push(bytes) < MAX_LOOSE) return;
    this.joined.push(Buffer.concat(this.loose));
    this.loose = [];
  }

  take(): Buffer {
    const pieces = [...this.joined, ...this.loose];
    this.joined = [];
    this.loose = [];
    this.length = 0;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }
}

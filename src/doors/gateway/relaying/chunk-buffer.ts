/** Small pieces are joined when this many are held: a piece of one byte takes a hundred times its size in memory. */
const MAX_LOOSE = 256;

/**
 * Collects bytes that arrive in pieces. Each byte is copied at most twice, and little more memory is used than its
 * length.
 */
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

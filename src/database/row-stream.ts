import { Readable } from 'node:stream';
import type { PoolClient } from 'pg';
import Cursor from 'pg-cursor';

const BATCH_BYTES = 256 * 1024;
/** Nothing is known of the sizes yet: a row may be as large as a body. */
const FIRST_BATCH = 1;
const MAX_BATCH = 512;
/** A reader that takes no batch for so long is taken for gone. */
const STALLED_AFTER_MS = 60_000;

/**
 * The rows of a query with one text column, as batches (`string[]`). A batch holds about `BATCH_BYTES`, judged by the
 * largest row of the batch before it, and at most doubles in rows; `maxBatch` bounds it where
 * sizes vary so much that this would judge badly.
 *
 * The connection goes back to the pool when the last row has been read. Who leaves before that, or meets an error,
 * drops it: PostgreSQL then stops the query at once instead of finishing what nobody reads.
 */
export class RowStream extends Readable {
  private readonly cursor: Cursor<[string]>;
  private rowsPerBatch: number;
  private isExhausted = false;
  private stalled?: NodeJS.Timeout;

  constructor(
    private readonly client: PoolClient,
    { text, values }: { text: string; values: unknown[] },
    private readonly maxBatch = MAX_BATCH,
  ) {
    super({ objectMode: true, highWaterMark: 1 });
    this.rowsPerBatch = FIRST_BATCH;
    client.once('end', this.lost);
    this.cursor = client.query(new Cursor<[string]>(text, values, { rowMode: 'array' }));
  }

  /** The cursor says nothing when the connection ends between its last row and the server's "ready". */
  private readonly lost = () => this.destroy(new Error('Connection terminated unexpectedly'));

  override _read(): void {
    clearTimeout(this.stalled);
    this.cursor.read(this.rowsPerBatch, (error: Error | undefined, rows: [string][]) => {
      if (error) this.destroy(error);
      else if (!this.destroyed) this.deliver(rows.map(([line]) => line));
    });
  }

  private deliver(lines: string[]): void {
    this.isExhausted = lines.length < this.rowsPerBatch;
    if (lines.length > 0) {
      const largest = Math.max(...lines.map((line) => line.length), 1);
      this.rowsPerBatch = Math.max(
        1,
        Math.min(this.maxBatch, 2 * this.rowsPerBatch, Math.floor(BATCH_BYTES / largest)),
      );
      this.stalled = setTimeout(
        () => this.destroy(new Error('the reader has stalled')),
        STALLED_AFTER_MS,
      );
      this.push(lines);
    }
    if (this.isExhausted) this.push(null);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.stalled);
    this.client.removeListener('end', this.lost);
    this.client.release(error ?? !this.isExhausted);
    done(error);
  }
}

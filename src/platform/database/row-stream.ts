import { Readable } from 'node:stream';
import type { StatementOutcome } from '../process/request-trace.js';
import { Busy, TookTooLong } from '../refusals.js';
import { STATEMENT_MS } from './limits.js';
import type { PoolClient } from '../pg/driver.js';
import { Portal } from '../pg/portal.js';
import { RawRowReader } from '../pg/raw-row-reader.js';
import type { ConnectionSlot } from './connection-slots.js';

const BATCH_BYTES = 512 * 1024;
/** Row sizes are unknown at first, and one row may be as large as a request body. */
const FIRST_BATCH = 1;
/** Most that a batch grows by. A page of 50 rows then takes four batches, each with a round trip to PostgreSQL. */
const GROWTH = 4;
const MAX_BATCH = 512;
/** A reader that takes no batch for this long is considered gone. */
export const STALLED_AFTER_MS = 60_000;

export interface RowBatcher<Batch> {
  /**
   * Adds a row in the protocol's format: an int16 count of values, then for each value its length (-1 for null) and
   * bytes.
   */
  add(bytes: Buffer, start: number, end: number): void;
  /** Returns the rows added since the last call. */
  take(): Batch;
}

/** Collects the first value of each row, a text. */
export class TextRows implements RowBatcher<string[]> {
  private texts: string[] = [];

  add(bytes: Buffer, start: number): void {
    const from = start + 6;
    this.texts.push(bytes.toString('utf8', from, from + bytes.readInt32BE(start + 2)));
  }

  take(): string[] {
    const { texts } = this;
    this.texts = [];
    return texts;
  }
}

/**
 * Collects the first value of each row, a JSON text, as bytes. Decoding a text of 30 MiB, and encoding it again, would
 * block the event loop for 0.2 s. With `limit` the query reads one row more than the page has, which only sets
 * `hasMore`.
 */
export class ByteRows implements RowBatcher<{ bytes: Buffer; ends: number[] }> {
  private count = 0;
  private parts: Buffer[] = [];
  private ends: number[] = [];

  constructor(private readonly limit = Infinity) {}

  get hasMore(): boolean {
    return this.count > this.limit;
  }

  add(bytes: Buffer, start: number): void {
    if (++this.count > this.limit) return;
    const from = start + 6;
    const length = bytes.readInt32BE(start + 2);
    const text = Buffer.allocUnsafe(length + 1);
    bytes.copy(text, 0, from, from + length);
    this.parts.push(text);
    this.ends.push((this.ends.at(-1) ?? -1) + text.length);
  }

  take(): { bytes: Buffer; ends: number[] } {
    const { parts, ends } = this;
    [this.parts, this.ends] = [[], []];
    return { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), ends };
  }
}

interface RowStreamOptions {
  slot: ConnectionSlot;
  maxBatch: number | undefined;
  firstBatch: number | undefined;
  /** Name under which connections keep the plan. */
  keptAs: string | undefined;
  limits: { readMs: number; maxRowBytes: number };
  ended: ((outcome: StatementOutcome) => void) | undefined;
}

/**
 * Streams the rows of a query, as batches that `rows` builds. A batch holds about `BATCH_BYTES`, estimated from the
 * largest row of the previous batch, and grows at most by `GROWTH`. `maxBatch` limits it where row sizes vary too much
 * for this estimate. `firstBatch` is for rows that are known to be small.
 *
 * The connection returns to the pool when the last row has arrived. When the reader leaves earlier, or an error occurs,
 * the connection is closed, and PostgreSQL stops the query at once. The same happens when a batch, its reader or the
 * whole stream takes too long.
 */
export class RowStream extends Readable {
  private readonly portal: Portal;
  private isAsked = false;
  private readonly tap: RawRowReader;
  private rowsPerBatch: number;
  private received = 0;
  private largest = 1;
  /** The last batch has arrived, and the connection returns to the pool by itself. */
  private isExhausted = false;
  private isReleased = false;
  private readonly maxBatch: number;
  private readonly slot: ConnectionSlot;
  private readonly readMs: number;
  /** Number of rows so far, and the time that the database took for them. */
  private rowCount = 0;
  private databaseMs = 0;
  private askedAt = performance.now();
  private readonly ended: RowStreamOptions['ended'];
  /** Timers for the current batch or its reader, and for the whole stream. */
  private turn?: NodeJS.Timeout;
  private readonly end: NodeJS.Timeout;

  constructor(
    private readonly client: PoolClient,
    { text, values }: { text: string; values: unknown[] },
    private readonly rows: RowBatcher<unknown>,
    {
      slot,
      maxBatch = MAX_BATCH,
      firstBatch = FIRST_BATCH,
      keptAs,
      limits,
      ended,
    }: RowStreamOptions,
  ) {
    super({ objectMode: true, highWaterMark: 1 });
    this.maxBatch = maxBatch;
    this.rowsPerBatch = firstBatch;
    this.slot = slot;
    this.ended = ended;
    slot.cut = () => this.destroy(new Busy('the reader is too slow, and others wait'));
    this.end = setTimeout(() => this.destroy(tookTooLong('the stream')), STATEMENT_MS.stream);
    client.once('end', this.lost);
    this.readMs = limits.readMs;
    this.tap = new RawRowReader(client, {
      maxRowBytes: limits.maxRowBytes,
      onRow: this.add,
      onTooLarge: (error) => this.destroy(error),
    });
    this.portal = new Portal({ text, values, keptAs, limitMs: STATEMENT_MS.stream }, firstBatch, {
      onBatch: this.took,
      onError: (error) => this.lose(error),
      onFree: () => queueMicrotask(() => this.free()), // the tap has read the rest by then
    });
  }

  /** pg reports no error to the statement when the connection ends between two batches. */
  private readonly lost = () => this.lose(new Error('Connection terminated unexpectedly'));

  private readonly add = (bytes: Buffer, start: number, end: number): void => {
    if (this.destroyed) return;
    this.received++;
    this.largest = Math.max(this.largest, end - start);
    try {
      this.rows.add(bytes, start, end);
    } catch (error) {
      this.destroy(error as Error); // the row does not fit into a string
    }
  };

  override _read(): void {
    this.slot.idleSince = null;
    this.within(this.readMs, () => tookTooLong('a batch of the stream'));
    this.received = 0;
    this.largest = 1;
    this.askedAt = performance.now();
    if (this.isAsked) this.portal.read(this.rowsPerBatch);
    else this.client.query(this.portal);
    this.isAsked = true;
  }

  private readonly took = (isLast: boolean): void => {
    this.databaseMs += performance.now() - this.askedAt;
    this.rowCount += this.received;
    this.isExhausted = isLast;
    if (!this.destroyed) this.deliver();
  };

  private deliver(): void {
    if (this.received > 0) {
      this.rowsPerBatch = Math.max(
        1,
        Math.min(this.maxBatch, GROWTH * this.rowsPerBatch, Math.floor(BATCH_BYTES / this.largest)),
      );
      this.slot.idleSince = performance.now();
      this.within(STALLED_AFTER_MS, () => new Error('the reader has stalled'));
      this.push(this.rows.take());
    }
    if (this.isExhausted) this.push(null);
  }

  private within(ms: number, error: () => Error): void {
    clearTimeout(this.turn);
    this.turn = setTimeout(() => this.destroy(error()), ms);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.turn);
    clearTimeout(this.end);
    this.ended?.({ rows: this.rowCount, ms: this.databaseMs, error });
    if (!this.isExhausted) this.release(error ?? true);
    done(error);
  }

  /** Handles a lost connection. After the last row only the pool still needs it. */
  private lose(error: Error): void {
    if (this.isExhausted) this.release(error);
    else this.destroy(error);
  }

  /**
   * Returns the connection to the pool. A dropped connection keeps its tap, because pg would start to read in the
   * middle of a row.
   */
  private free(): void {
    if (this.isReleased) return;
    this.tap.close();
    this.release();
  }

  private release(error?: Error | boolean): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.client.removeListener('end', this.lost);
    this.client.release(error);
  }
}

const tookTooLong = (what: string) => new TookTooLong(`${what} took longer than its limit`);

import { Busy } from './busy.js';

interface Waiting<Row> {
  row: Row;
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Limits {
  /** Rows and bytes of one write. */
  maxRows: number;
  maxBytes: number;
  /** Writes under way at once. */
  maxWrites: number;
  /** Rows and bytes that may wait; beyond them `add` throws `Busy`. */
  maxWaitingRows: number;
  maxWaitingBytes: number;
}

const MIB = 1024 * 1024;

/* One write at a time leaves Node waiting for the commit, four keep it busy. Why 100 rows: docs/adr/0004-write-path.md. */
const LIMITS: Limits = {
  maxRows: 100,
  maxBytes: 8 * MIB,
  maxWrites: 4,
  maxWaitingRows: 20_000,
  maxWaitingBytes: 64 * MIB,
};

/**
 * Turns concurrent single-row writes into few multi-row ones. Rows that arrive while `maxWrites` writes are under way
 * form the next batches, so there is no timer: latency is one write when idle, and a batch grows with the load. Rows
 * share a write only with rows of the same project, and projects take turns. `add` settles when its row is committed,
 * or refused; what waits is bounded in rows and bytes.
 */
export class GroupCommit<Row> {
  /** By project, the one that has waited longest first. */
  private readonly waiting = new Map<string, Waiting<Row>[]>();
  private rows = 0;
  private bytes = 0;
  private writes = 0;
  private isScheduled = false;
  private readonly idleListeners: (() => void)[] = [];
  private readonly limits: Limits;

  constructor(
    private readonly write: (rows: Row[]) => Promise<void>,
    /** Whether the error may be due to some of the rows, so that the others are tried without them. */
    private readonly isRowError: (error: unknown) => boolean,
    limits: Partial<Limits> = {},
  ) {
    this.limits = { ...LIMITS, ...limits };
  }

  get waitingRows(): number {
    return this.rows;
  }

  /** `bytes` is what the row weighs, for the limits; one that waits alone may weigh more. @throws Busy */
  add(row: Row, project: string, bytes: number): Promise<void> {
    const { maxWaitingRows, maxWaitingBytes } = this.limits;
    const isOver = this.rows >= maxWaitingRows || this.bytes + bytes > maxWaitingBytes;
    if (isOver && this.rows > 0)
      return Promise.reject(new Busy('too many writes wait for the database'));
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(project);
      const waiting = { row, bytes, resolve, reject };
      if (queue) queue.push(waiting);
      else this.waiting.set(project, [waiting]);
      this.rows++;
      this.bytes += bytes;
      this.schedule();
    });
  }

  /** Resolves when everything added so far is settled; call it on shutdown. */
  async idle(): Promise<void> {
    if (this.rows === 0 && this.writes === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  /** Requests read in the same turn of the event loop share the first batch. */
  private schedule(): void {
    if (this.isScheduled || this.writes >= this.limits.maxWrites) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.rows > 0 && this.writes < this.limits.maxWrites) void this.startWrite();
    });
  }

  private async startWrite(): Promise<void> {
    this.writes++;
    await this.commit(this.nextBatch());
    this.writes--;
    if (this.rows > 0) this.schedule();
    else if (this.writes === 0) for (const resolve of this.idleListeners.splice(0)) resolve();
  }

  /** Of the project that has waited longest; what does not fit goes to the end of the line. */
  private nextBatch(): Waiting<Row>[] {
    const [project, queue] = this.waiting.entries().next().value!;
    let rows = 0;
    let bytes = 0;
    for (const waiting of queue) {
      const isFull = rows >= this.limits.maxRows || bytes + waiting.bytes > this.limits.maxBytes;
      if (rows > 0 && isFull) break;
      rows++;
      bytes += waiting.bytes;
    }
    const batch = queue.splice(0, rows);
    this.waiting.delete(project);
    if (queue.length > 0) this.waiting.set(project, queue);
    this.rows -= rows;
    this.bytes -= bytes;
    return batch;
  }

  private async commit(batch: Waiting<Row>[]): Promise<void> {
    try {
      await this.write(batch.map(({ row }) => row));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length > 1 && this.isRowError(error)) {
        // One bad row must not fail its neighbours: halve until it stands alone.
        const half = batch.length >> 1;
        await this.commit(batch.slice(0, half));
        await this.commit(batch.slice(half));
      } else {
        for (const { reject } of batch) reject(error); // or: the server is gone, for all of them
      }
    }
  }
}

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
  /** Rows and bytes that may wait; beyond them `add` throws `QueueFull`. */
  maxWaitingRows: number;
  maxWaitingBytes: number;
}

const MIB = 1024 * 1024;

/*
 * One connection stores 9 to 14 thousand rows of 2 KB a second and leaves Node idle, four keep it busy: the figures are
 * in docs/adr/0004-write-path.md.
 */
const LIMITS: Limits = {
  maxRows: 500,
  maxBytes: 8 * MIB,
  maxWrites: 4,
  maxWaitingRows: 50_000,
  maxWaitingBytes: 256 * MIB,
};

/** As many rows or bytes wait as may wait. */
export class QueueFull extends Error {}

/**
 * Turns concurrent single-row writes into few multi-row ones. Rows that arrive while `maxWrites` writes are under way
 * form the next batch, so there is no timer: latency is one write when idle, and the batch grows with the load. `add`
 * settles when its row is committed, or refused; what waits is bounded in rows and bytes.
 */
export class GroupCommit<Row> {
  private waiting: Waiting<Row>[] = [];
  private waitingBytes = 0;
  private writes = 0;
  private isScheduled = false;
  private idleListeners: (() => void)[] = [];
  private readonly limits: Limits;

  constructor(
    private readonly write: (rows: Row[]) => Promise<void>,
    private readonly isRowError: (error: unknown) => boolean,
    limits: Partial<Limits> = {},
  ) {
    this.limits = { ...LIMITS, ...limits };
  }

  get waitingRows(): number {
    return this.waiting.length;
  }

  /** `bytes` is what the row weighs, for the limits. */
  add(row: Row, bytes: number): Promise<void> {
    const { maxWaitingRows, maxWaitingBytes } = this.limits;
    if (this.waiting.length >= maxWaitingRows || this.waitingBytes + bytes > maxWaitingBytes)
      return Promise.reject(new QueueFull('too many writes are waiting for the database'));
    return new Promise((resolve, reject) => {
      this.waiting.push({ row, bytes, resolve, reject });
      this.waitingBytes += bytes;
      this.schedule();
    });
  }

  /** Resolves when everything added so far is settled; call it on shutdown. */
  async idle(): Promise<void> {
    if (this.waiting.length === 0 && this.writes === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  /** Requests read in the same turn of the event loop share the first batch. */
  private schedule(): void {
    if (this.isScheduled || this.writes >= this.limits.maxWrites) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      while (this.waiting.length > 0 && this.writes < this.limits.maxWrites) void this.startWrite();
    });
  }

  private async startWrite(): Promise<void> {
    this.writes++;
    await this.commit(this.nextBatch());
    this.writes--;
    if (this.waiting.length > 0) this.schedule();
    else if (this.writes === 0) for (const resolve of this.idleListeners.splice(0)) resolve();
  }

  private nextBatch(): Waiting<Row>[] {
    let rows = 0;
    let bytes = 0;
    for (const waiting of this.waiting) {
      if (rows > 0 && (rows >= this.limits.maxRows || bytes + waiting.bytes > this.limits.maxBytes))
        break;
      rows++;
      bytes += waiting.bytes;
    }
    this.waitingBytes -= bytes;
    return this.waiting.splice(0, rows);
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

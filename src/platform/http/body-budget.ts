import { freeShareRule, perKeyRule, FairQueue, Shares } from '../process/fair-queue.js';
import { ApiError, unavailable } from '../errors.js';

const SMALL_BYTES = 256 * 1024;
/** Part of the budget that only small bodies may use, so that they pass while large ones fill the rest. */
const SMALL_PART = 1 / 8;
/**
 * Longest total wait of a body for memory, during which it is not read. Growing bodies hold part of the budget while
 * they wait for more. With this limit per wait, they could keep each other waiting for ever.
 */
const WAIT_MS = 2000;
/** Most waiting bodies of one key. An entity may have four times as many. */
const MAX_WAITING = 64;

/** The part of the budget that one body holds, charged to the key that sends it. */
export class BodyReservation {
  bytes = 0;
  private waitMs = WAIT_MS;
  private pool: Shares | null = null;
  private isOver = false;
  private leaving: AbortController | undefined;

  constructor(
    private readonly budget: BodyBudget,
    private readonly owner: string,
  ) {}

  /**
   * Changes the reservation to `bytes`. Returns a promise when it has to wait.
   * @throws ApiError `too_large` when the bytes never fit, `unavailable` when they did not fit in time or after
   * `release`.
   */
  set(bytes: number): Promise<void> | undefined {
    return this.moved(bytes) ? undefined : this.wait(bytes);
  }

  add(bytes: number): Promise<void> | undefined {
    return this.set(this.bytes + bytes);
  }

  /** Releases everything and stops waiting. Work that continues after its request has ended gets no more memory. */
  release(): void {
    this.isOver = true;
    this.leave();
    this.pool?.give(this.owner, this.bytes);
    this.pool = null;
    this.bytes = 0;
    this.budget.line.wake();
  }

  /** Refuses the reservation, if it waits. */
  leave(): void {
    this.leaving?.abort(busy());
  }

  /** Changes the reservation to `bytes`, or returns false when there is no room. */
  moved(bytes: number): boolean {
    if (this.isOver) throw busy();
    const pool = this.poolFor(bytes);
    if (!pool) return false;
    const isLess = bytes < this.bytes || pool !== this.pool;
    if (pool === this.pool) pool.add(this.owner, bytes - this.bytes, 0);
    else {
      this.pool?.give(this.owner, this.bytes);
      pool.add(this.owner, bytes);
    }
    this.pool = pool;
    this.bytes = bytes;
    if (isLess) this.budget.line.wake();
    return true;
  }

  private async wait(bytes: number): Promise<void> {
    const { line, largeBytes } = this.budget;
    if (bytes > largeBytes)
      throw new ApiError(
        'too_large',
        `the body takes about ${bytes} bytes of memory, over the limit of ${largeBytes}`,
      );
    const began = performance.now();
    const { signal } = (this.leaving = new AbortController());
    await line.enter(this.owner, { hold: this, bytes }, { waitMs: this.waitMs, signal });
    this.waitMs = Math.max(0, this.waitMs - (performance.now() - began));
  }

  private poolFor(bytes: number): Shares | undefined {
    const { small, large } = this.budget;
    const fits = (pool: Shares) =>
      pool.hasRoom(this.owner, bytes, this.pool === pool ? this.bytes : 0);
    if (bytes <= SMALL_BYTES && fits(small)) return small;
    return fits(large) ? large : undefined;
  }
}

/**
 * Memory that request bodies may take in this process, in all their forms: compressed, inflated, as text and parsed.
 */
export class BodyBudget {
  readonly small: Shares;
  readonly large: Shares;
  readonly largeBytes: number;
  readonly line = new FairQueue<{ hold: BodyReservation; bytes: number }>({
    take: ({ hold, bytes }) => hold.moved(bytes),
    waiting: perKeyRule(MAX_WAITING, ({ count }) => count < 4 * MAX_WAITING),
    refusal: busy,
  });

  constructor(bytes: number) {
    const smallBytes = Math.floor(bytes * SMALL_PART);
    this.largeBytes = bytes - smallBytes;
    this.small = new Shares(freeShareRule(smallBytes));
    this.large = new Shares(freeShareRule(this.largeBytes));
  }

  get held(): number {
    return this.small.all.weight + this.large.all.weight;
  }

  hold(owner: string): BodyReservation {
    return new BodyReservation(this, owner);
  }
}

export function busy(): ApiError {
  return unavailable('the memory for bodies is in use');
}

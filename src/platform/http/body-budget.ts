import { Counts } from '../process/counts.js';
import { ApiError, unavailable } from '../errors.js';

/** A body of up to this weight is a small one. */
export const SMALL_BYTES = 256 * 1024;
/** Only small bodies may use this part of the budget, so that they pass while large ones fill the rest. */
const SMALL_PART = 1 / 8;
/**
 * How long a body that does not fit may wait in all. It is not read meanwhile. Bodies that grow hold some of the
 * budget while they wait for more: if each wait had this long, they could keep each other waiting for ever.
 */
const WAIT_MS = 2000;
/** How many bodies of one key may wait. */
const MAX_WAITING = 64;

/**
 * Shares a number of bytes among the bodies that are under way. A key may hold as much as stays free: one key up to
 * a half, two keys a third each, and so on, so that something is left for the next one. A single body may be larger
 * when no other is under way.
 */
class Pool {
  held = 0;
  private readonly heldBy = new Counts();

  constructor(readonly size: number) {}

  /** Whether a hold of `own` bytes may become one of `wanted`. */
  fits(owner: string, own: number, wanted: number): boolean {
    const free = this.size - this.held + own - wanted;
    if (free < 0) return false;
    return wanted <= own || this.held === own || this.heldBy.of(owner) - own + wanted <= free;
  }

  add(owner: string, bytes: number): void {
    this.held += bytes;
    this.heldBy.add(owner, bytes);
  }
}

interface Waiter {
  hold: Hold;
  bytes: number;
  resolve(): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** What one body holds of the budget, in the name of the key that sends it. */
export class Hold {
  bytes = 0;
  waitMs = WAIT_MS;
  private pool: Pool | null = null;

  constructor(
    private readonly budget: BodyBudget,
    readonly owner: string,
  ) {}

  /**
   * Changes the hold to `bytes`; returns a promise when it has to wait for them.
   * @throws ApiError `too_large` when they never fit, `unavailable` when they did not fit in time.
   */
  set(bytes: number): Promise<void> | undefined {
    if (this.moved(bytes)) return undefined;
    return this.budget.wait(this, bytes);
  }

  add(bytes: number): Promise<void> | undefined {
    return this.set(this.bytes + bytes);
  }

  /** Gives everything back and stops waiting. */
  release(): void {
    this.budget.forget(this);
    this.moved(0);
  }

  /** Whether there was room. */
  moved(bytes: number): boolean {
    const pool = this.poolFor(bytes);
    if (!pool) return false;
    const isLess = bytes < this.bytes || pool !== this.pool;
    this.pool?.add(this.owner, -this.bytes);
    pool.add(this.owner, bytes);
    this.pool = pool;
    this.bytes = bytes;
    if (isLess) this.budget.wake();
    return true;
  }

  private poolFor(bytes: number): Pool | undefined {
    const { small, large } = this.budget;
    const own = (pool: Pool) => (this.pool === pool ? this.bytes : 0);
    if (bytes <= SMALL_BYTES && small.fits(this.owner, own(small), bytes)) return small;
    return large.fits(this.owner, own(large), bytes) ? large : undefined;
  }
}

/** The memory that request bodies may take in this process, in all the forms they have on their way. */
export class BodyBudget {
  readonly small: Pool;
  readonly large: Pool;
  private readonly waiting = new Map<string, Waiter[]>();
  private isWaking = false;

  constructor(bytes: number) {
    this.small = new Pool(Math.floor(bytes * SMALL_PART));
    this.large = new Pool(bytes - this.small.size);
  }

  get held(): number {
    return this.small.held + this.large.held;
  }

  hold(owner: string): Hold {
    return new Hold(this, owner);
  }

  wait(hold: Hold, bytes: number): Promise<void> {
    if (bytes > this.large.size)
      return Promise.reject(
        new ApiError(
          'too_large',
          `the body takes about ${bytes} bytes of memory, over the limit of ${this.large.size}`,
        ),
      );
    const queue = this.waiting.get(hold.owner) ?? [];
    if (queue.length >= MAX_WAITING) return Promise.reject(busy());
    this.waiting.set(hold.owner, queue);
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.forget(hold), hold.waitMs);
      const goOn = () => {
        hold.waitMs = Math.max(0, hold.waitMs - (performance.now() - began));
        resolve();
      };
      queue.push({ hold, bytes, resolve: goOn, reject, timer });
    });
  }

  /** Admits the bodies that fit now, the oldest of each key first. */
  wake(): void {
    if (this.isWaking || this.waiting.size === 0) return;
    this.isWaking = true; // a hold that moves between pools wakes again
    for (const [owner, queue] of this.waiting) {
      while (queue[0]?.hold.moved(queue[0].bytes)) {
        clearTimeout(queue[0].timer);
        queue.shift()!.resolve();
      }
      if (queue.length === 0) this.waiting.delete(owner);
    }
    this.isWaking = false;
  }

  /** Refuses the waiting hold, if it waits. */
  forget(hold: Hold): void {
    const queue = this.waiting.get(hold.owner);
    const at = queue?.findIndex((waiter) => waiter.hold === hold) ?? -1;
    if (!queue || at < 0) return;
    const [waiter] = queue.splice(at, 1) as [Waiter];
    if (queue.length === 0) this.waiting.delete(hold.owner);
    clearTimeout(waiter.timer);
    waiter.reject(busy());
    this.wake(); // it may have stood before a smaller one of its key
  }
}

export const busy = () => unavailable('the memory for bodies is in use');

import { Busy } from '../refusals.js';

/** A request waits for a slot no longer than this, as for a connection. */
export const WAIT_MS = 5000;
/** A reader that takes no batch for this long loses its slot when another key needs it: about 170 KiB a second. */
export const SLOW_AFTER_MS = 3000;
const LOOK_EVERY_MS = 250;

/** The right to one of the connections that may be held for long. */
export interface Slot {
  readonly key: string;
  /** Since when the holder waits for its reader, in milliseconds; null while the database works. */
  idleSince: number | null;
  /** Makes the holder give the slot back. */
  cut: () => void;
}

export const tooManyLong = () => new Busy('too many long reads and writes are under way');

interface Waiter {
  give: (slot: Slot) => void;
}

/**
 * Shares the slots of a process fairly by key. A free slot goes to the waiting key that holds the fewest; of several,
 * to the one that was served longest ago. A key never holds the last slot, so that one key cannot keep the others out.
 * While a key waits that holds fewer than another, the slowest reader of the other one is cut, if it is slow.
 */
export class Slots {
  private readonly held = new Set<Slot>();
  /** The key that was served longest ago comes first; of each key, the request that came first. */
  private readonly waiting = new Map<string, Set<Waiter>>();
  private readonly mayHold: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly count: number) {
    this.mayHold = Math.max(1, count - 1);
  }

  get heldCount(): number {
    return this.held.size;
  }

  get waitingCount(): number {
    return [...this.waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** @throws Busy when none comes free in time */
  async take(key: string): Promise<Slot> {
    const slot = this.takeNow(key);
    if (slot) return slot;
    return new Promise<Slot>((resolve, reject) => {
      const waiter: Waiter = {
        give: (given) => {
          clearTimeout(deadline);
          resolve(given);
        },
      };
      const deadline = setTimeout(() => {
        this.remove(key, waiter);
        reject(tooManyLong());
      }, WAIT_MS);
      const waiters = this.waiting.get(key);
      if (waiters) waiters.add(waiter);
      else this.waiting.set(key, new Set([waiter]));
      this.timer ??= setInterval(() => this.relieve(), LOOK_EVERY_MS);
    });
  }

  /** Runs the work with a slot. @throws Busy when none comes free in time */
  async with<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slot = await this.take(key);
    try {
      return await work();
    } finally {
      this.free(slot);
    }
  }

  /** A slot that is free now, and that nobody else waits for. */
  takeNow(key: string): Slot | undefined {
    if (this.next() !== undefined) return undefined;
    return this.isFreeFor(key) ? this.lend(key) : undefined;
  }

  free(slot: Slot): void {
    this.held.delete(slot);
    for (let key = this.next(); key !== undefined; key = this.next()) {
      const waiters = this.waiting.get(key)!;
      const [waiter] = waiters;
      this.waiting.delete(key);
      this.waiting.set(key, waiters); // to the end of the line
      this.remove(key, waiter!);
      waiter!.give(this.lend(key));
    }
  }

  private lend(key: string): Slot {
    const slot: Slot = { key, idleSince: null, cut: () => {} };
    this.held.add(slot);
    return slot;
  }

  /** The key that the next free slot goes to. */
  private next(): string | undefined {
    let next: string | undefined;
    for (const key of this.waiting.keys())
      if (this.isFreeFor(key) && (next === undefined || this.heldBy(key) < this.heldBy(next)))
        next = key;
    return next;
  }

  private isFreeFor(key: string): boolean {
    return this.held.size < this.count && this.heldBy(key) < this.mayHold;
  }

  private heldBy(key: string): number {
    let number = 0;
    for (const slot of this.held) if (slot.key === key) number++;
    return number;
  }

  private remove(key: string, waiter: Waiter): void {
    const waiters = this.waiting.get(key);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.waiting.delete(key);
    if (this.waiting.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Cuts the slowest of the readers that are too slow, for the waiting key that holds the fewest. */
  private relieve(): void {
    const fewest = Math.min(...[...this.waiting.keys()].map((key) => this.heldBy(key)));
    // A key that gives a slot away keeps at least as many as the other then has, unless the other has none.
    const isRich = (slot: Slot) => this.heldBy(slot.key) > (fewest === 0 ? 0 : fewest + 1);
    let slowest: Slot | undefined;
    for (const slot of this.held)
      if (slot.idleSince !== null && isRich(slot))
        if (slowest === undefined || slot.idleSince < slowest.idleSince!) slowest = slot;
    if (slowest && performance.now() - slowest.idleSince! > SLOW_AFTER_MS) slowest.cut();
  }
}

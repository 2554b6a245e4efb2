import { allButLastRule, ownerEntity, FairQueue, Shares } from '../process/fair-queue.js';
import { Busy } from '../refusals.js';

/** Longest time that a request waits for a slot. It equals the limit for a connection. */
export const WAIT_MS = 5000;
/**
 * A reader that takes no batch for this long loses its slot when another key needs it. That is about 170 KiB per
 * second.
 */
export const SLOW_AFTER_MS = 3000;
const LOOK_EVERY_MS = 250;

/** Permission to hold one of the connections that may be held for long. */
export interface ConnectionSlot {
  /** The owner of the slot, as defined by `Shares`. */
  readonly key: string;
  /** Time in milliseconds since which the holder waits for its reader. It is null while the database works. */
  idleSince: number | null;
  /** Time in milliseconds at which the slot was lent. */
  lentAt: number;
  cut: () => void;
}

export const tooManyLong = () => new Busy('too many long reads and writes are under way');

/**
 * Shares the slots of a process fairly between entities, then between the keys of an entity. A free slot goes to the
 * waiting entity that holds the fewest slots, and within it to the key that holds the fewest. A tie goes to the one
 * that was served longest ago. An entity never holds the last slot, so that its keys together cannot lock out others.
 * While an entity waits that holds fewer slots than another, the slowest reader of the other one is cut if it is slow.
 * Between the keys of an entity, slots are cut by this rule too.
 */
export class ConnectionSlots {
  private readonly held = new Set<ConnectionSlot>();
  private readonly shares: Shares;
  private readonly queue: FairQueue<ConnectionSlot>;
  private timer: NodeJS.Timeout | undefined;
  /** Time for which slots were held, keyed by entity. */
  private heldMs = new Map<string, number>();

  constructor(count: number) {
    this.shares = new Shares(allButLastRule(count));
    this.queue = new FairQueue<ConnectionSlot>({
      take: (slot) => this.lend(slot),
      held: this.shares,
      waitMs: WAIT_MS,
      refusal: tooManyLong,
    });
  }

  get heldCount(): number {
    return this.held.size;
  }

  get waitingCount(): number {
    return this.queue.count;
  }

  /** @throws Busy when no slot becomes free in time */
  async take(key: string): Promise<ConnectionSlot> {
    const slot = makeSlot(key);
    const turn = this.queue.enter(key, slot);
    if (turn) this.timer ??= setInterval(() => this.relieve(), LOOK_EVERY_MS);
    await turn;
    return slot;
  }

  /**
   * Runs the work with a slot.
   * @throws Busy when no slot becomes free in time
   */
  async with<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slot = await this.take(key);
    try {
      return await work();
    } finally {
      this.free(slot);
    }
  }

  takeNow(key: string): ConnectionSlot | undefined {
    const slot = makeSlot(key);
    return this.lend(slot) ? slot : undefined;
  }

  free(slot: ConnectionSlot): void {
    if (!this.held.delete(slot)) return;
    this.shares.give(slot.key);
    const entity = ownerEntity(slot.key);
    const ms = performance.now() - slot.lentAt;
    this.heldMs.set(entity, (this.heldMs.get(entity) ?? 0) + ms);
    this.queue.wake();
  }

  /** Returns how long each entity held slots that were freed since the last call. */
  takeHeldMs(): Map<string, number> {
    const { heldMs } = this;
    this.heldMs = new Map();
    return heldMs;
  }

  private lend(slot: ConnectionSlot): boolean {
    const isFree = this.shares.take(slot.key);
    if (!isFree) return false;
    slot.lentAt = performance.now();
    this.held.add(slot);
    return true;
  }

  /**
   * True when the holder can give up a slot for the waiter. The holder must keep at least as many as the waiter then
   * has, unless the waiter has none now.
   */
  private isRicher(holder: string, waiter: string): boolean {
    const held = (owner: string) =>
      ownerEntity(holder) === ownerEntity(waiter)
        ? this.shares.of(owner).count
        : this.shares.ofEntity(ownerEntity(owner)).count;
    return held(holder) > (held(waiter) === 0 ? 0 : held(waiter) + 1);
  }

  /** Cuts the slowest of the readers that are too slow, in favour of the waiting keys. */
  private relieve(): void {
    if (this.queue.count === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
      return;
    }
    const waiters = this.queue.owners;
    const isRich = (slot: ConnectionSlot) =>
      waiters.some((waiter) => this.isRicher(slot.key, waiter));
    let slowest: ConnectionSlot | undefined;
    for (const slot of this.held)
      if (slot.idleSince !== null && isRich(slot))
        if (slowest === undefined || slot.idleSince < slowest.idleSince!) slowest = slot;
    if (slowest && performance.now() - slowest.idleSince! > SLOW_AFTER_MS) slowest.cut();
  }
}

const makeSlot = (key: string): ConnectionSlot => ({
  key,
  idleSince: null,
  lentAt: 0,
  cut: () => {},
});

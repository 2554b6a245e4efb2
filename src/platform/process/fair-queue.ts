/** What is had of something that is bounded: how many things, and their weight together. */
interface Amount {
  count: number;
  weight: number;
}

/** Whether an owner may have one more thing, of this weight. One that it has already, of the weight `had`, is to become that. */
type Rule = (own: Amount, all: Amount, weight: number, had: number) => boolean;

/** So many together, of which one owner never has the last one, unless it is the only one. */
export const allButTheLast =
  (count: number): Rule =>
  (own, all) =>
    all.count < count && own.count < Math.max(1, count - 1);

/** Number and weight together, of which one owner may have half. The first one may weigh more. */
export function halfOf({ count, weight }: Amount): Rule {
  const fits = (have: Amount, more: number, part: number) =>
    have.count === 0 || (have.count < count * part && have.weight + more <= weight * part);
  return (own, all, more) => fits(all, more, 1) && fits(own, more, 1 / 2);
}

/**
 * A weight together, of which one owner may have as much as stays free: one owner up to a half, two owners a third each,
 * and so on, so that something is left for the next one. A single thing may weigh more when there is no other.
 */
export const asMuchAsStaysFree =
  (size: number): Rule =>
  (own, all, weight, had) => {
    const free = size - all.weight + had - weight;
    if (free < 0) return false;
    return weight <= had || all.weight === had || own.weight - had + weight <= free;
  };

const NOTHING: Readonly<Amount> = { count: 0, weight: 0 };

/** Who has what of something that is shared by a rule. An owner that has nothing takes no memory. */
export class Shares {
  readonly all: Amount = { count: 0, weight: 0 };
  private readonly owners = new Map<string, Amount>();

  constructor(private readonly rule: Rule) {}

  of(owner: string): Readonly<Amount> {
    return this.owners.get(owner) ?? NOTHING;
  }

  hasRoom(owner: string, weight = 0, had = 0): boolean {
    return this.rule(this.of(owner), this.all, weight, had);
  }

  /** @returns whether there was room */
  take(owner: string, weight = 0): boolean {
    const isFree = this.hasRoom(owner, weight);
    if (isFree) this.add(owner, weight);
    return isFree;
  }

  give(owner: string, weight = 0, count = 1): void {
    this.add(owner, -weight, -count);
  }

  /** Also without room. */
  add(owner: string, weight = 0, count = 1): void {
    let own = this.owners.get(owner);
    if (!own) this.owners.set(owner, (own = { count: 0, weight: 0 }));
    for (const amount of [own, this.all]) {
      amount.count += count;
      amount.weight += weight;
    }
    if (own.count === 0) this.owners.delete(owner);
  }
}

interface Waiter<T> {
  asked: T;
  weight: number;
  settle: (refusal?: unknown) => void;
}

interface Rules<T> {
  /** Takes what is asked for, if it may be had now. */
  take: (asked: T, owner: string) => boolean;
  /** What an owner has: those with less come first. Without it, owners take turns only. */
  heldBy?: (owner: string) => number;
  /** How many may wait, and their weight. */
  waiting?: Rule;
  waitMs?: number;
  /** The error of one who finds no place in the line, or waits too long. */
  refusal: () => Error;
}

/**
 * Waiting for something that owners share. What an owner asks for first, it gets first; what becomes free goes to the
 * owner that was served longest ago. An owner whose next wish does not fit delays no other owner. Nothing is reserved
 * meanwhile: what fits is taken at once, also while larger things wait, so waiting has a limit.
 */
export class FairQueue<T = void> {
  /** The owner that was served longest ago comes first. */
  private readonly lines = new Map<string, Set<Waiter<T>>>();
  private readonly waiting: Shares;
  private isWaking = false;

  constructor(private readonly rules: Rules<T>) {
    this.waiting = new Shares(rules.waiting ?? (() => true));
  }

  get count(): number {
    return this.waiting.all.count;
  }

  /** Owners that wait. */
  get owners(): string[] {
    return [...this.lines.keys()];
  }

  /**
   * Takes what is asked for: now, or when it is its turn. Rejects with the refusal, or with the reason of the signal.
   * `weight` is that of waiting.
   */
  enter(
    owner: string,
    asked: T,
    {
      weight = 0,
      waitMs = this.rules.waitMs,
      signal,
    }: { weight?: number; waitMs?: number | undefined; signal?: AbortSignal } = {},
  ): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.rules.take(asked, owner)) return undefined;
    if (!this.waiting.take(owner, weight)) return Promise.reject(this.rules.refusal());
    return new Promise<void>((resolve, reject) => {
      const settle = (refusal?: unknown) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.remove(owner, waiter);
        if (refusal === undefined) return resolve();
        reject(refusal);
        this.wake(); // it may have stood before one of its owner that fits
      };
      const leave = () => settle(signal!.reason);
      const waiter: Waiter<T> = { asked, weight, settle };
      const timer =
        waitMs === undefined ? undefined : setTimeout(() => settle(this.rules.refusal()), waitMs);
      signal?.addEventListener('abort', leave);
      const line = this.lines.get(owner);
      if (line) line.add(waiter);
      else this.lines.set(owner, new Set([waiter]));
    });
  }

  /** To be called when something has become free: gives it to those who wait, one of each owner after the other. */
  wake(): void {
    if (this.isWaking || this.count === 0) return; // taking may give something back
    this.isWaking = true;
    while (this.serveOwners());
    this.isWaking = false;
  }

  /** Whether one was served. */
  private serveOwners(): boolean {
    const { take, heldBy } = this.rules;
    let { owners } = this;
    if (heldBy && owners.length > 1) {
      const held = new Map(owners.map((owner) => [owner, heldBy(owner)]));
      owners = owners.toSorted((one, other) => held.get(one)! - held.get(other)!);
    }
    let hasServed = false;
    for (const owner of owners) {
      const line = this.lines.get(owner)!;
      const [first] = line;
      if (!take(first!.asked, owner)) continue;
      this.lines.delete(owner);
      this.lines.set(owner, line); // to the end
      first!.settle();
      hasServed = true;
    }
    return hasServed;
  }

  private remove(owner: string, waiter: Waiter<T>): void {
    const line = this.lines.get(owner)!;
    line.delete(waiter);
    if (line.size === 0) this.lines.delete(owner);
    this.waiting.give(owner, waiter.weight);
  }
}

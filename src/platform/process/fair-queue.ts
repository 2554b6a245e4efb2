/** The part of a bounded resource that is held: the number of items, and their total weight. */
interface Amount {
  count: number;
  weight: number;
}

/**
 * Returns true when an owner may hold one more item of this weight. For an existing item, `had` is its weight before.
 */
type Rule = (own: Amount, all: Amount, weight: number, had: number) => boolean;

interface Rules {
  entity: Rule;
  key: Rule;
}

/**
 * Returns rules for `count` items in total. An entity never gets the last one, unless the limit is one. With five or
 * more, a key leaves one more to the other keys of its entity.
 */
export function allButLastRule(count: number): Rules {
  const upTo =
    (most: number): Rule =>
    (own, all) =>
      all.count < count && own.count < Math.max(1, most);
  return { entity: upTo(count - 1), key: upTo(count < 5 ? count - 1 : count - 2) };
}

/**
 * Returns rules for a number and a total weight. An entity may hold two thirds, and a key a half. The first item may
 * weigh more.
 */
export function twoThirdsRule({ count, weight }: Amount): Rules {
  const fits = (have: Amount, more: number, part: number) =>
    have.count === 0 || (have.count < count * part && have.weight + more <= weight * part);
  const upTo =
    (part: number): Rule =>
    (own, all, more) =>
      fits(all, more, 1) && fits(own, more, part);
  return { entity: upTo(2 / 3), key: upTo(1 / 2) };
}

/**
 * Returns rules for a total weight. A key may hold as much as stays free, and an entity twice as much. One key gets up
 * to a half, one entity two thirds, two entities two fifths each, and so on, so that something is always left. A single
 * item may weigh more when no other is held.
 */
export function freeShareRule(size: number): Rules {
  const upTo =
    (times: number): Rule =>
    (own, all, weight, had) => {
      const free = size - all.weight + had - weight;
      if (free < 0) return false;
      return weight <= had || all.weight === had || own.weight - had + weight <= times * free;
    };
  return { entity: upTo(2), key: upTo(1) };
}

export const perKeyRule = (count: number, ofEntity: Rule = () => true): Rules => ({
  entity: ofEntity,
  key: (own) => own.count < count,
});

const UNBOUNDED = perKeyRule(Infinity);
const NOTHING: Readonly<Amount> = { count: 0, weight: 0 };

/** Returns the entity of an owner. An owner is a key: `<entity>/<key>`. One without a slash is its own entity. */
export function ownerEntity(owner: string): string {
  const end = owner.indexOf('/');
  return end < 0 ? owner : owner.slice(0, end);
}

interface KeyAmount extends Amount {
  ofEntity: Amount;
}

/**
 * Counts the parts of a shared resource that each entity and each of its keys hold. An owner without items takes no
 * memory.
 */
export class Shares {
  readonly all: Amount = { count: 0, weight: 0 };
  private readonly keys = new Map<string, KeyAmount>();
  private readonly entities = new Map<string, Amount>();

  constructor(private readonly rules: Rules) {}

  of(owner: string): Readonly<Amount> {
    return this.keys.get(owner) ?? NOTHING;
  }

  ofEntity(entity: string): Readonly<Amount> {
    return this.entities.get(entity) ?? NOTHING;
  }

  hasRoom(owner: string, weight = 0, had = 0): boolean {
    const { key, entity } = this.rules;
    const own = this.keys.get(owner);
    const ofEntity = own?.ofEntity ?? this.ofEntity(ownerEntity(owner));
    return key(own ?? NOTHING, this.all, weight, had) && entity(ofEntity, this.all, weight, had);
  }

  /** @returns true when the item fitted */
  take(owner: string, weight = 0): boolean {
    const isFree = this.hasRoom(owner, weight);
    if (isFree) this.add(owner, weight);
    return isFree;
  }

  give(owner: string, weight = 0, count = 1): void {
    this.add(owner, -weight, -count);
  }

  /** Adds items without checking the rules. */
  add(owner: string, weight = 0, count = 1): void {
    const own = this.keys.get(owner) ?? this.begin(owner);
    for (const amount of [own, own.ofEntity, this.all]) {
      amount.count += count;
      amount.weight += weight;
    }
    if (own.count === 0) this.keys.delete(owner);
    if (own.ofEntity.count === 0) this.entities.delete(ownerEntity(owner));
  }

  private begin(owner: string): KeyAmount {
    const entity = ownerEntity(owner);
    let ofEntity = this.entities.get(entity);
    if (!ofEntity) this.entities.set(entity, (ofEntity = { count: 0, weight: 0 }));
    const own = { count: 0, weight: 0, ofEntity };
    this.keys.set(owner, own);
    return own;
  }
}

interface Waiter<T> {
  asked: T;
  weight: number;
  settle: (refusal?: unknown) => void;
}

interface Options<T> {
  /** Takes the requested item, if it is available now. Returns true then. */
  take: (asked: T, owner: string) => boolean;
  /**
   * Parts that are held: entities, and then their keys, with fewer items are served first. Without it, they only take
   * turns.
   */
  held?: Shares;
  waiting?: Rules;
  waitMs?: number;
  /** Returns the error of a request that finds the queue full, or waits too long. */
  refusal: () => Error;
}

/** Waiting requests, keyed by owner, oldest first. */
type Lines<T> = Map<string, Set<Waiter<T>>>;

/**
 * Queue for a resource that entities and their keys share. A key's requests are served in order. A free item goes to
 * the entity that was served longest ago, and in it to the key served longest ago. A key whose next request does not
 * fit delays no other. Nothing is reserved: a request that fits is served at once, even while larger ones wait. A
 * waiting time therefore needs a limit.
 */
export class FairQueue<T = void> {
  /** Waiting requests, keyed by entity. The entity that was served longest ago comes first, and so does its key. */
  private readonly entities = new Map<string, Lines<T>>();
  private readonly waiting: Shares;
  private isWaking = false;

  constructor(private readonly options: Options<T>) {
    this.waiting = new Shares(options.waiting ?? UNBOUNDED);
  }

  get count(): number {
    return this.waiting.all.count;
  }

  get owners(): string[] {
    return [...this.entities.values()].flatMap((lines) => [...lines.keys()]);
  }

  /**
   * Takes an item now and returns undefined, or returns a promise that resolves when it is this request's turn. Rejects
   * with the refusal, or with the reason of the signal. `weight` counts against the limits of waiting requests.
   */
  enter(
    owner: string,
    asked: T,
    {
      weight = 0,
      waitMs = this.options.waitMs,
      signal,
    }: { weight?: number; waitMs?: number | undefined; signal?: AbortSignal } = {},
  ): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.options.take(asked, owner)) return undefined;
    if (!this.waiting.take(owner, weight)) return Promise.reject(this.options.refusal());
    return new Promise<void>((resolve, reject) => {
      const settle = (refusal?: unknown) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.remove(owner, waiter);
        if (refusal === undefined) return resolve();
        reject(refusal);
        this.wake(); // it may have delayed a later request of its owner that fits
      };
      const leave = () => settle(signal!.reason);
      const waiter: Waiter<T> = { asked, weight, settle };
      const timer =
        waitMs === undefined ? undefined : setTimeout(() => settle(this.options.refusal()), waitMs);
      signal?.addEventListener('abort', leave);
      const entity = ownerEntity(owner);
      const lines: Lines<T> = this.entities.get(entity) ?? new Map();
      this.entities.set(entity, lines);
      lines.set(owner, (lines.get(owner) ?? new Set()).add(waiter));
    });
  }

  /** Serves waiting requests after something has become free, one of each entity in turn. */
  wake(): void {
    if (this.isWaking || this.count === 0) return; // `take` may itself give something back
    this.isWaking = true;
    while (this.serveEntities());
    this.isWaking = false;
  }

  /** Returns true when a request was served. */
  private serveEntities(): boolean {
    const { held } = this.options;
    let hasServed = false;
    const entities = leastHeldFirst(
      this.entities,
      held && ((entity) => held.ofEntity(entity).count),
    );
    for (const entity of entities) {
      const lines = this.entities.get(entity)!;
      if (!this.serveOne(lines)) continue;
      hasServed = true;
      if (this.entities.delete(entity)) this.entities.set(entity, lines); // moves it to the end
    }
    return hasServed;
  }

  private serveOne(lines: Lines<T>): boolean {
    const { take, held } = this.options;
    for (const owner of leastHeldFirst(lines, held && ((key) => held.of(key).count))) {
      const line = lines.get(owner)!;
      const [first] = line;
      if (!take(first!.asked, owner)) continue;
      lines.delete(owner);
      lines.set(owner, line); // moves it to the end
      first!.settle();
      return true;
    }
    return false;
  }

  private remove(owner: string, waiter: Waiter<T>): void {
    const lines = this.entities.get(ownerEntity(owner))!;
    const line = lines.get(owner)!;
    line.delete(waiter);
    if (line.size === 0) lines.delete(owner);
    if (lines.size === 0) this.entities.delete(ownerEntity(owner));
    this.waiting.give(owner, waiter.weight);
  }
}

/** Returns the names in the order of the map, with those that hold less first. */
function leastHeldFirst(map: Map<string, unknown>, heldBy?: (name: string) => number): string[] {
  const names = [...map.keys()];
  if (!heldBy || names.length < 2) return names;
  const held = new Map(names.map((name) => [name, heldBy(name)]));
  return names.toSorted((one, other) => held.get(one)! - held.get(other)!);
}

/** What is had of something that is bounded: how many things, and their weight together. */
interface Amount {
  count: number;
  weight: number;
}

/** Whether an owner may have one more thing, of this weight. One that it has already, of the weight `had`, is to become that. */
type Rule = (own: Amount, all: Amount, weight: number, had: number) => boolean;

/** What an entity may have with all its keys, and what one key of it may. */
interface Rules {
  entity: Rule;
  key: Rule;
}

/**
 * So many together. An entity never has the last one, unless it is the only one; of five or more, a key leaves one more
 * to the other keys of its entity.
 */
export function allButLastRule(count: number): Rules {
  const upTo =
    (most: number): Rule =>
    (own, all) =>
      all.count < count && own.count < Math.max(1, most);
  return { entity: upTo(count - 1), key: upTo(count < 5 ? count - 1 : count - 2) };
}

/** Number and weight together, of which an entity may have two thirds and a key a half. The first one may weigh more. */
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
 * A weight together, of which a key may have as much as stays free, and an entity twice as much: one key up to a half, one
 * entity two thirds, two entities two fifths each, and so on, so that something is left for the next one. A single thing
 * may weigh more when there is no other.
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

/** So many for each key. */
export const perKeyRule = (count: number, ofEntity: Rule = () => true): Rules => ({
  entity: ofEntity,
  key: (own) => own.count < count,
});

const UNBOUNDED = perKeyRule(Infinity);
const NOTHING: Readonly<Amount> = { count: 0, weight: 0 };

/** The entity of an owner, which is a key: `<entity>/<key>`. An owner without an entity is one by itself. */
export function ownerEntity(owner: string): string {
  const end = owner.indexOf('/');
  return end < 0 ? owner : owner.slice(0, end);
}

interface KeyAmount extends Amount {
  ofEntity: Amount;
}

/** Who has what of something that is shared by a rule: each entity, and each of its keys. Who has nothing takes no memory. */
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
  /** Takes what is asked for, if it may be had now. */
  take: (asked: T, owner: string) => boolean;
  /** What is had: those with less come first, entities and then keys of one. Without it, they take turns only. */
  held?: Shares;
  /** How many may wait, and their weight. */
  waiting?: Rules;
  waitMs?: number;
  /** The error of one who finds no place in the line, or waits too long. */
  refusal: () => Error;
}

/** By owner. What has waited longest comes first. */
type Lines<T> = Map<string, Set<Waiter<T>>>;

/**
 * Waiting for something that owners share: entities, and the keys of each. What a key asks for first, it gets first; what
 * becomes free goes to the entity that was served longest ago, and in it to such a key. A key whose next wish does not fit
 * delays no other. Nothing is reserved meanwhile: what fits is taken at once, also while larger things wait, so waiting has a
 * limit.
 */
export class FairQueue<T = void> {
  /** The entity that was served longest ago comes first, and so does a key of it. */
  private readonly entities = new Map<string, Lines<T>>();
  private readonly waiting: Shares;
  private isWaking = false;

  constructor(private readonly options: Options<T>) {
    this.waiting = new Shares(options.waiting ?? UNBOUNDED);
  }

  get count(): number {
    return this.waiting.all.count;
  }

  /** Owners that wait. */
  get owners(): string[] {
    return [...this.entities.values()].flatMap((lines) => [...lines.keys()]);
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
        this.wake(); // it may have stood before one of its owner that fits
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

  /** To be called when something has become free: gives it to those who wait, one of each entity after the other. */
  wake(): void {
    if (this.isWaking || this.count === 0) return; // taking may give something back
    this.isWaking = true;
    while (this.serveEntities());
    this.isWaking = false;
  }

  /** Whether one was served. */
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
      if (this.entities.delete(entity)) this.entities.set(entity, lines); // to the end
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
      lines.set(owner, line); // to the end
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

/** The names in the order of the map, those that hold less first. */
function leastHeldFirst(map: Map<string, unknown>, heldBy?: (name: string) => number): string[] {
  const names = [...map.keys()];
  if (!heldBy || names.length < 2) return names;
  const held = new Map(names.map((name) => [name, heldBy(name)]));
  return names.toSorted((one, other) => held.get(one)! - held.get(other)!);
}

import { microsecondsOf } from '../../platform/query/binary-copy.js';
import { parseDate } from '../../platform/http/dto.js';

/** Sort key of an event. An event with a higher value overrides one with a lower value. */
export type EventOrder = number;

/** Order of a derived member value: any event that names the member overrides it. */
export const DERIVED: EventOrder = -1e18;

const DAY_MICROSECONDS = 24 * 60 * 60 * 1_000_000;

/** Microseconds since 2000 of a text that `isDateTime` accepts. */
export const microsecondsAt = (text: string): number =>
  microsecondsOf(text) ?? (parseDate(text).getTime() - EPOCH_MS) * 1000;

const EPOCH_MS = Date.UTC(2000, 0, 1);

/** Returns the order of an event: by timestamp. At the same timestamp, a create comes before an update. */
export const orderOf = (timestamp: string, isUpdate: boolean): EventOrder =>
  2 * microsecondsAt(timestamp) + (isUpdate ? 1 : 0);

interface StoredTimes {
  /** Names of members, keyed by the order of the event that set them. */
  set?: Record<string, string[]>;
  isObserved?: boolean;
}

/**
 * Stores which event set each member of a call or a score. A later event replaces a member and an earlier one does not,
 * whatever the order of arrival. A timestamp more than a day ahead of this process's clock is treated as a mistake. It
 * counts before all others, so that one wrong clock does not block changes of a member for years.
 */
export class EventTimes {
  private readonly orders = new Map<string, EventOrder>();
  /** True when the times of a trace's root are computed from the observations below it. */
  isObserved = false;

  constructor(stored: string | null | undefined) {
    if (!stored) return;
    const { set = {}, isObserved = false } = JSON.parse(stored) as StoredTimes;
    this.isObserved = isObserved;
    for (const [order, names] of Object.entries(set))
      for (const name of names) this.orders.set(name, Number(order));
  }

  has(name: string): boolean {
    return this.orders.has(name);
  }

  /** True when the root of a trace has times that an event named. */
  get hasOwnTimes(): boolean {
    return this.has('startTime');
  }

  /** Returns true when the event may set the member. The order of the event is then stored for the member. */
  takes(name: string, order: EventOrder): boolean {
    const known = this.orders.get(name);
    if (known !== undefined && rank(order) < rank(known)) return false;
    this.orders.set(name, order);
    return true;
  }

  /** Returns true when the event may set a member that keeps the value of the earliest event. Stores its order then. */
  takesFirst(name: string, order: EventOrder): boolean {
    const known = this.orders.get(name);
    if (known !== undefined && order >= known) return false;
    this.orders.set(name, order);
    return true;
  }

  get text(): string {
    const set = new Map<EventOrder, string[]>();
    for (const [name, order] of this.orders) {
      const names = set.get(order);
      if (names) names.push(name);
      else set.set(order, [name]);
    }
    const times: StoredTimes = { set: Object.fromEntries(set) };
    if (this.isObserved) times.isObserved = true;
    return JSON.stringify(times);
  }
}

const rank = (order: EventOrder): number => {
  const latest = 2 * ((Date.now() - EPOCH_MS) * 1000 + DAY_MICROSECONDS);
  return order > latest ? order + DERIVED : order;
};

import { EventLoopTurn } from './event-loop-turn.js';

const SECOND_MS = 1000;
const DAY_S = 86_400;
const DAY_MS = DAY_S * SECOND_MS;

export const MAX_BUCKETS = 10_000;

/** Usual bucket lengths in seconds. Longer buckets are whole days. */
const USUAL = [60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY_S];

/**
 * Pairs of the longest window and the bucket length that it gets, in seconds. They equal those of the service behind
 * the published clients.
 */
const CHOSEN = [
  [2 * 3600, 300],
  [12 * 3600, 3600],
  [3 * DAY_S, 21_600],
  [14 * DAY_S, 43_200],
] as const;

/**
 * Returns the bucket length in seconds: the requested one, or one that suits the window. It is raised if it gives too
 * many buckets.
 */
export function chooseGranularity(
  asked: number | null | undefined,
  start: Date,
  end: Date,
): number {
  const seconds = (+end - +start) / SECOND_MS;
  const wanted = asked ?? CHOSEN.find(([longest]) => seconds <= longest)?.[1] ?? DAY_S;
  const least = Math.ceil(seconds / (MAX_BUCKETS - 1));
  if (wanted >= least) return wanted;
  return USUAL.find((usual) => usual >= least) ?? Math.ceil(least / DAY_S) * DAY_S;
}

/**
 * Returns the starts of the buckets of a window. The first bucket may begin before the window. Days are those of the
 * time zone, so a bucket of one day has 23 or 25 hours when the clocks change. Shorter buckets begin at midnight of the
 * zone and follow its clocks: a bucket is longer or shorter at a change, and an hour that occurs twice makes two
 * buckets of an hour. Buckets of several days count from a Monday. 10,000 days take some 0.1 s, so it yields to the
 * event loop.
 */
export async function bucketStarts(
  start: Date,
  end: Date,
  granularity: number,
  timezone: string,
): Promise<Date[]> {
  const turn = new EventLoopTurn();
  const zone = new Zone(timezone);
  const days = Math.max(1, Math.ceil(granularity / DAY_S));
  const starts: number[] = [];
  let day = Math.floor((zone.wallTime(+start) - MONDAY) / (days * DAY_MS)) * days;
  for (let since = zone.findInstant(MONDAY + day * DAY_MS); since < +end;) {
    if (turn.isOver) await turn.next();
    day += days;
    const until = zone.findInstant(MONDAY + day * DAY_MS);
    if (granularity < DAY_S) starts.push(...within(zone, since, until, granularity * SECOND_MS));
    else if (until > since) starts.push(since); // a zone that moved across the date line has skipped a day
    since = until;
  }
  const first = Math.max(
    0,
    starts.findLastIndex((at) => at <= +start),
  );
  return starts
    .slice(first)
    .filter((at) => at < +end)
    .map((at) => new Date(at));
}

/** A Monday on the clock of the zone, from which days are counted. */
const MONDAY = Date.UTC(1970, 0, 5);

function within(zone: Zone, since: number, until: number, step: number): number[] {
  const starts: number[] = [];
  const midnight = zone.wallTime(since);
  const turn = zone.turnBetween(since, until);
  for (let at = since; at < (turn ?? until); at += step) starts.push(at);
  if (turn === null) return starts;
  const before = zone.wallTime(turn - 1) + 1 - midnight;
  const after = zone.wallTime(turn) - midnight;
  // The clocks skipped the beginning of a bucket, or are set to the beginning of one.
  if (Math.floor(after / step) > Math.floor((before - 1) / step) || after % step === 0)
    starts.push(turn);
  for (let wall = (Math.floor(after / step) + 1) * step; turn + wall - after < until; wall += step)
    starts.push(turn + wall - after);
  return starts;
}

class Zone {
  private readonly format: Intl.DateTimeFormat;

  constructor(timezone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /**
   * Returns the clock time at an instant, as the milliseconds of that time in UTC. Parsing the text is three times as
   * fast as `formatToParts`.
   */
  wallTime(at: number): number {
    const text = this.format.format(at); // for example 1/31/2026 AD, 23:59:59
    const [month, day, year, hour, minute, second] = text.match(/\d+/g)!.map(Number);
    const wall = new Date(0);
    wall.setUTCFullYear(text.includes('B') ? 1 - year! : year!, month! - 1, day);
    wall.setUTCHours(hour!, minute, second);
    return +wall + (((at % SECOND_MS) + SECOND_MS) % SECOND_MS);
  }

  /**
   * Returns the first instant at which the clock shows a time. For a skipped time, returns the instant of the change.
   */
  findInstant(wall: number): number {
    const offsets = [wall - DAY_MS, wall + DAY_MS].map((at) => this.wallTime(at) - at);
    const [before, after] = offsets as [number, number];
    if (this.wallTime(wall - before) === wall) return wall - before;
    if (this.wallTime(wall - after) === wall) return wall - after;
    return this.turnBetween(wall - DAY_MS, wall + DAY_MS) ?? wall - after;
  }

  /** Returns the instant at which the clocks change between two instants, or null if they do not change. */
  turnBetween(since: number, until: number): number | null {
    const offset = (at: number) => this.wallTime(at) - at;
    const first = offset(since);
    if (offset(until - 1) === first) return null;
    let [low, high] = [since, until - 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === first) low = middle;
      else high = middle;
    }
    return high;
  }
}

export function isZone(name: unknown): boolean {
  if (typeof name !== 'string' || name.length > 64) return false;
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: name }).format(0));
  } catch {
    return false;
  }
}

import { EventLoopTurn } from './event-loop-turn.js';

const SECOND_MS = 1000;
const DAY_S = 86_400;
const DAY_MS = DAY_S * SECOND_MS;

export const MAX_BUCKETS = 10_000;

/** Seconds; longer ones are whole days. */
const USUAL = [60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY_S];

/** Window length up to which a bucket length is used, in seconds: as the published clients' own service chooses. */
const CHOSEN = [
  [2 * 3600, 300],
  [12 * 3600, 3600],
  [3 * DAY_S, 21_600],
  [14 * DAY_S, 43_200],
] as const;

/** The bucket length in seconds: as requested, else by the length of the window; raised when there would be too many buckets. */
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
 * The starts of the buckets of a window, the first of which may begin before it. Days are those of the zone: a bucket of
 * a day has 23 or 25 hours when the clocks change. Shorter buckets begin at midnight of the zone and go by its clocks:
 * a bucket is longer or shorter where they are set, and an hour that comes twice makes two buckets of an hour. Buckets
 * of several days count from a Monday. Asking a zone for 10,000 days takes some 0.1 s, so that others get their turn.
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
    else if (until > since) starts.push(since); // a zone that changed sides of the date line has skipped a day
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

/** A Monday; days are counted from it, as the zone's clock shows them. */
const MONDAY = Date.UTC(1970, 0, 5);

/** The starts within one day of the zone. */
function within(zone: Zone, since: number, until: number, step: number): number[] {
  const starts: number[] = [];
  const midnight = zone.wallTime(since);
  const turn = zone.turnBetween(since, until);
  for (let at = since; at < (turn ?? until); at += step) starts.push(at);
  if (turn === null) return starts;
  const before = zone.wallTime(turn - 1) + 1 - midnight;
  const after = zone.wallTime(turn) - midnight;
  // the clocks skipped the beginning of a bucket, or are set to one
  if (Math.floor(after / step) > Math.floor((before - 1) / step) || after % step === 0)
    starts.push(turn);
  for (let wall = (Math.floor(after / step) + 1) * step; turn + wall - after < until; wall += step)
    starts.push(turn + wall - after);
  return starts;
}

/** The clocks of an IANA zone. */
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

  /** What the clock shows at an instant, as the milliseconds that it would be in UTC. Its parts one by one take three times as long. */
  wallTime(at: number): number {
    const text = this.format.format(at); // 1/31/2026 AD, 23:59:59
    const [month, day, year, hour, minute, second] = text.match(/\d+/g)!.map(Number);
    const wall = new Date(0);
    wall.setUTCFullYear(text.includes('B') ? 1 - year! : year!, month! - 1, day);
    wall.setUTCHours(hour!, minute, second);
    return +wall + (((at % SECOND_MS) + SECOND_MS) % SECOND_MS);
  }

  /** When the clock first shows a time, or would have, had it not skipped it. */
  findInstant(wall: number): number {
    const offsets = [wall - DAY_MS, wall + DAY_MS].map((at) => this.wallTime(at) - at);
    const [before, after] = offsets as [number, number];
    if (this.wallTime(wall - before) === wall) return wall - before;
    if (this.wallTime(wall - after) === wall) return wall - after;
    return this.turnBetween(wall - DAY_MS, wall + DAY_MS) ?? wall - after;
  }

  /** The instant at which the clocks are set between two instants; null when they are not. */
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

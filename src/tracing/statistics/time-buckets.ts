import { invalidRequest } from '../../platform/errors.js';
import { parseDate } from '../../platform/http/dto.js';
import { Parameter, sql, type Sql } from '../../platform/query/sql.js';
import { bucketStarts, chooseGranularity } from '../../platform/time/buckets.js';
import type { StatsWindowDto } from './statistics.dto.js';

/** A span of time as exact texts. `since` is included, `until` is not. */
export interface TimeSpan {
  since: string;
  until: string;
}

/** A window with its defaults filled in. */
export interface StatsWindow extends TimeSpan {
  from: Date;
  to: Date;
  granularity: number;
  timezone: string;
}

/** @throws ApiError `invalid_request` */
export function readWindow(asked: Omit<StatsWindowDto, 'project_id'>): StatsWindow {
  const { start: since, end, granularity, timezone } = asked;
  const until = end ?? new Date().toISOString();
  const [from, to] = [parseDate(since), parseDate(until)];
  if (to <= from) throw invalidRequest([{ path: 'end', message: 'must be after start' }]);
  return {
    since,
    until,
    from,
    to,
    granularity: chooseGranularity(granularity, from, to),
    timezone: timezone ?? 'UTC',
  };
}

/** Returns the first fields of an answer. */
export const windowFrame = ({ from, to, granularity, timezone }: StatsWindow) => ({
  start: microseconds(from),
  end: microseconds(to),
  granularity,
  timezone,
});

/** Formats an instant with milliseconds the way PostgreSQL prints it. */
export const microseconds = (at: Date) => at.toISOString().replace('Z', '000Z');

export const isWithin = (time: Sql, { since, until }: TimeSpan) =>
  sql`${time} >= ${since}::timestamptz AND ${time} < ${until}::timestamptz`;

/** A window and its buckets, numbered from 0. */
export class TimeBuckets implements TimeSpan {
  readonly since: string;
  readonly until: string;
  /**
   * The starts of the window and of each later bucket. The first bucket may begin before the window, in a year that
   * PostgreSQL cannot read.
   */
  readonly bounds: readonly string[];
  private readonly parameter: Parameter;

  constructor(
    { since, until }: TimeSpan,
    readonly starts: readonly Date[],
  ) {
    this.since = since;
    this.until = until;
    this.bounds = [since, ...starts.slice(1).map((at) => at.toISOString())];
    this.parameter = new Parameter(this.bounds);
  }

  /** Takes some 0.1 s for the days of a time zone, so call it in long work, of which a key has few slots. */
  static async of(window: StatsWindow): Promise<TimeBuckets> {
    const { from, to, granularity, timezone } = window;
    return new TimeBuckets(window, await bucketStarts(from, to, granularity, timezone));
  }

  /** Returns the bucket of a time within the window. */
  at = (time: Sql) => sql`width_bucket(${time}, ${this.parameter}::timestamptz[]) - 1`;

  timestamp = (bucket: number) => microseconds(this.starts[bucket]!);
}

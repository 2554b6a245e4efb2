import { Injectable } from '@nestjs/common';
import { bucketStarts, granularityOf } from '../common/buckets.js';
import { dateOf } from '../common/dto.js';
import { ApiError, invalidRequest } from '../common/errors.js';
import { Database } from '../database/database.js';
import type { FeedbackStatsAnswerDto, FeedbackStatsDto } from './feedback-stats.dto.js';
import { type StatsRow, statsQuery, type Wanted, wantedOf } from './feedback-stats.query.js';

/** Values of an answer, and the bytes of their names, which stand in each bucket. */
export const MAX_VALUES = 250_000;
export const MAX_NAME_BYTES = 16 * 1024 * 1024;

/** What feedback says over time. Every row of the window is read. */
@Injectable()
export class FeedbackStatsService {
  constructor(private readonly database: Database) {}

  async stats(body: FeedbackStatsDto): Promise<FeedbackStatsAnswerDto> {
    const end = body.end ?? new Date().toISOString();
    const [from, to] = [dateOf(body.start), dateOf(end)];
    if (to <= from) throw invalidRequest([{ path: 'end', message: 'must be after start' }]);
    const timezone = body.timezone ?? 'UTC';
    const granularity = granularityOf(body.granularity, from, to);
    const times = await bucketStarts(from, to, granularity, timezone);
    const starts = times.map((at) => at.toISOString());
    const metrics = (body.metrics ?? []).map(wantedOf);
    assertFew(starts.length, metrics);
    const rows = await this.database.long(() =>
      this.database.query<StatsRow>(statsQuery(body, { end, starts }, metrics)),
    );
    const byBucket = new Map(rows.map((row) => [row.bucket, row]));
    return {
      start: microseconds(from.toISOString()),
      end: microseconds(to.toISOString()),
      granularity,
      timezone,
      buckets: starts.map((at, i) => bucketOf(at, byBucket.get(i), metrics)),
      window_stats: windowOf(byBucket.get(null)!, metrics),
    };
  }
}

/** @throws ApiError `too_large` */
function assertFew(buckets: number, metrics: readonly Wanted[]): void {
  const names = metrics.flatMap((metric) =>
    membersOf(metric, undefined).map(([name]) => name.length + metric.slug.length + 1),
  );
  const bytes = names.reduce((a, b) => a + b, 0);
  if (buckets * names.length <= MAX_VALUES && buckets * bytes <= MAX_NAME_BYTES) return;
  throw new ApiError(
    'too_large',
    `the answer would have over ${MAX_VALUES} values or too long names: ask for less time, longer buckets, or fewer metrics, aggregations or percentiles`,
  );
}

const microseconds = (at: string) => at.replace('Z', '000Z');

function bucketOf(at: string, row: StatsRow | undefined, metrics: readonly Wanted[]): object {
  const members = metrics.flatMap((metric, i) =>
    membersOf(metric, row?.[`m${i}`]).map(([name, value]) => [`${name}_${metric.slug}`, value]),
  );
  return { timestamp: microseconds(at), count: row?.count ?? 0, ...Object.fromEntries(members) };
}

function windowOf(row: StatsRow, metrics: readonly Wanted[]): object {
  const bySlug = new Map<string, object>();
  for (const [i, metric] of metrics.entries())
    bySlug.set(metric.slug, {
      ...bySlug.get(metric.slug),
      ...Object.fromEntries(membersOf(metric, row[`m${i}`])),
    });
  return Object.fromEntries(bySlug);
}

/** Without feedback counts and no values. */
const membersOf = (
  { aggregations, percentiles }: Wanted,
  values: readonly (number | null)[] | undefined,
): [name: string, value: number | null][] => [
  ...aggregations.map((name, i): [string, number | null] => [
    name,
    values?.[i] ?? (name.startsWith('count') ? 0 : null),
  ]),
  ...percentiles.map((percent, i): [string, number | null] => [
    `p${percent}`,
    values?.[aggregations.length + i] ?? null,
  ]),
];

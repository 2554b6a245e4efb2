import { Injectable } from '@nestjs/common';
import { bucketStarts } from '../../platform/time/buckets.js';
import { ApiError } from '../../platform/errors.js';
import { windowFrame, microseconds, readWindow } from '../../platform/http/stats-window.js';
import { Database } from '../../platform/database/database.js';
import type { FeedbackStatsAnswerDto, FeedbackStatsDto } from './feedback-stats.dto.js';
import {
  type FeedbackStatsRow,
  statsQuery,
  type FeedbackMetric,
  readMetric,
} from './feedback-stats.query.js';

/** Limits of one answer: values, and bytes of their names, which each bucket repeats. */
const MAX_VALUES = 250_000;
const MAX_NAME_BYTES = 16 * 1024 * 1024;

/** Computes statistics of feedback over time. Reads every row of the window. */
@Injectable()
export class FeedbackStatsService {
  constructor(private readonly database: Database) {}

  async stats(body: FeedbackStatsDto): Promise<FeedbackStatsAnswerDto> {
    const window = readWindow(body);
    const { from, to, end, granularity, timezone } = window;
    const metrics = (body.metrics ?? []).map(readMetric);
    // buckets of time zones take long to compute too, so they need a slot of `database.long`, of which a key has few
    const { starts, rows } = await this.database.long(async () => {
      const times = await bucketStarts(from, to, granularity, timezone);
      assertFew(times.length, metrics);
      const query = statsQuery(body, { end, starts: times.map((at) => at.toISOString()) }, metrics);
      return { starts: times, rows: await this.database.query(query) };
    });
    const byBucket = new Map(rows.map((row) => [row.bucket, row]));
    return {
      ...windowFrame(window),
      buckets: starts.map((at, i) => printBucket(at, byBucket.get(i), metrics)),
      window_stats: printWhole(byBucket.get(null)!, metrics),
    };
  }
}

/** @throws ApiError `too_large` */
function assertFew(buckets: number, metrics: readonly FeedbackMetric[]): void {
  const names = metrics.flatMap((metric) =>
    statMembers(metric, undefined).map(([name]) => name.length + metric.slug.length + 1),
  );
  const bytes = names.reduce((a, b) => a + b, 0);
  if (buckets * names.length <= MAX_VALUES && buckets * bytes <= MAX_NAME_BYTES) return;
  throw new ApiError(
    'too_large',
    `the answer would have over ${MAX_VALUES} values or too long names: ask for less time, longer buckets, or fewer metrics, aggregations or percentiles`,
  );
}

function printBucket(
  at: Date,
  row: FeedbackStatsRow | undefined,
  metrics: readonly FeedbackMetric[],
): object {
  const members = metrics.flatMap((metric, i) =>
    statMembers(metric, row?.[`m${i}`]).map(([name, value]) => [`${name}_${metric.slug}`, value]),
  );
  return { timestamp: microseconds(at), count: row?.count ?? 0, ...Object.fromEntries(members) };
}

function printWhole(row: FeedbackStatsRow, metrics: readonly FeedbackMetric[]): object {
  const bySlug = new Map<string, object>();
  for (const [i, metric] of metrics.entries())
    bySlug.set(metric.slug, {
      ...bySlug.get(metric.slug),
      ...Object.fromEntries(statMembers(metric, row[`m${i}`])),
    });
  return Object.fromEntries(bySlug);
}

/** Returns the members of a metric. Without feedback, counts are 0 and other values null. */
const statMembers = (
  { aggregations, percentiles }: FeedbackMetric,
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

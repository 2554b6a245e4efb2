import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { readWindow, TimeBuckets, windowFrame } from '../statistics/time-buckets.js';
import { statisticNames } from '../statistics/statistics.query.js';
import type { FeedbackStatsAnswerDto, FeedbackStatsDto } from './feedback-stats.dto.js';
import { readMetric, statsQuery } from './feedback-stats.query.js';

/** Limits of one answer: values, and bytes of their names, which each bucket repeats. */
const MAX_VALUES = 250_000;
const MAX_NAME_BYTES = 16 * 1024 * 1024;

/** A member of buckets: a statistic of a metric. */
interface Member {
  slug: string;
  statistic: string;
}

/** Computes statistics of feedback over time. Reads every row of the window. */
@Injectable()
export class FeedbackStatsService {
  constructor(private readonly database: Database) {}

  async stats(body: FeedbackStatsDto): Promise<FeedbackStatsAnswerDto> {
    const window = readWindow(body);
    const metrics = (body.metrics ?? []).map(readMetric);
    const members = metrics.flatMap((metric) =>
      statisticNames(metric).map((statistic) => ({ slug: metric.slug, statistic })),
    );
    const { buckets, rows } = await this.database.transaction({ long: 'read' }, async () => {
      const all = await TimeBuckets.of(window);
      assertFew(all.starts.length, members);
      return { buckets: all, rows: await this.database.query(statsQuery(body, all, metrics)) };
    });
    const byBucket = new Map(rows.map((row) => [row.bucket, row]));
    const whole = new Map<string, Record<string, number | null>>(
      metrics.map(({ slug }) => [slug, {}]),
    );
    for (const [i, { slug, statistic }] of members.entries())
      whole.get(slug)![statistic] = valueOf(statistic, byBucket.get(null)!.values[i]);
    return {
      ...windowFrame(window),
      buckets: buckets.starts.map((_, i) => {
        const { count, values } = byBucket.get(i) ?? { count: 0, values: [] };
        const named = members.map(({ slug, statistic }, at) => [
          `${statistic}_${slug}`,
          valueOf(statistic, values[at]),
        ]);
        return { timestamp: buckets.timestamp(i), count, ...Object.fromEntries(named) };
      }),
      window_stats: Object.fromEntries(whole),
    };
  }
}

/** @throws ApiError `too_large` */
function assertFew(buckets: number, members: readonly Member[]): void {
  const bytes = members.reduce(
    (sum, { slug, statistic }) => sum + statistic.length + slug.length + 1,
    0,
  );
  if (buckets * members.length <= MAX_VALUES && buckets * bytes <= MAX_NAME_BYTES) return;
  throw new ApiError(
    'too_large',
    `the answer would have over ${MAX_VALUES} values or too long names: ask for less time, longer buckets, or fewer metrics, aggregations or percentiles`,
  );
}

/** Without feedback, counts are 0 and other values null. */
const valueOf = (statistic: string, value: number | null | undefined) =>
  value ?? (statistic.startsWith('count') ? 0 : null);

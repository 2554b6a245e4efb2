import { Decimal } from '../../../platform/json/decimal.js';
import { ApiError } from '../../../platform/errors.js';
import { groupBy } from '../../../platform/query/grouping.js';
import {
  type Percentile,
  readStatistics,
  type RequestedStatistics,
  statisticNames,
  type ValueStatistics,
} from '../../statistics/statistics.query.js';

/** Statistics of a metric in a bucket, keyed by `statisticNames`. Unknown values are null or absent. */
export type BucketValues = Readonly<Record<string, unknown>>;

/** Statistics of one metric, by default the sum. */
export interface MetricStatistics<Metric extends string = string> extends ValueStatistics {
  metric: Metric;
}

/** Merges metrics that are requested several times. */
export const readMetrics = <Metric extends string>(
  asked: readonly (RequestedStatistics & { metric: Metric })[] | null | undefined,
): MetricStatistics<Metric>[] =>
  Array.from(
    groupBy(asked ?? [], ({ metric }) => metric),
    ([metric, all]) => ({
      metric,
      ...readStatistics({
        aggregations: all.flatMap((one) => readStatistics(one, ['sum']).aggregations),
        percentiles: all.flatMap(({ percentiles }) => percentiles ?? []),
      }),
    }),
  );

/** Maximum number of values in all buckets of one answer. Each value is printed in some 40 characters. */
const MAX_VALUES = 250_000;

/** Returns the maximum number of buckets. Each also has its time, its names and its count. */
export const mostBuckets = (wanted: readonly MetricStatistics[]) =>
  Math.floor(MAX_VALUES / wanted.reduce((sum, one) => sum + statisticNames(one).length, 4));

export const tooLarge = () =>
  new ApiError(
    'too_large',
    `the answer has over ${MAX_VALUES} values or too long names: ask for less time, longer buckets, or fewer groups, aggregations or percentiles`,
  );

/** Returns the members of a bucket: `<aggregation>_<metric>` and `p<percent>_<metric>`. */
export const statMembers = (wanted: MetricStatistics, values: BucketValues) =>
  Object.fromEntries(
    statisticNames(wanted).map((name) => [`${name}_${wanted.metric}`, values[name] ?? null]),
  );

export const percentileValues = (
  percentiles: readonly Percentile[],
  values: readonly (number | null)[] | null | undefined,
) => Object.fromEntries(percentiles.map(({ name }, i) => [name, values?.[i] ?? null]));

/** Returns the statistics of `count` values, of which `ones` are 1 and the others 0. */
export function flags(
  ones: number,
  count: number,
  percentiles: readonly Percentile[],
): BucketValues {
  const zeros = count - ones;
  const valueAt = (place: number) => (place < zeros ? 0 : 1);
  const spread = percentiles.map(({ fraction }) => {
    if (count === 0) return null;
    const rank = fraction * (count - 1);
    const lower = valueAt(Math.floor(rank));
    return lower + (rank - Math.floor(rank)) * (valueAt(Math.ceil(rank)) - lower);
  });
  return {
    sum: decimal(ones),
    avg: average(decimal(ones), count),
    min: count > 0 ? decimal(zeros > 0 ? 0 : 1) : null,
    max: count > 0 ? decimal(ones > 0 ? 1 : 0) : null,
    count,
    count_true: ones,
    count_false: zeros,
    ...percentileValues(percentiles, spread),
  };
}

export const decimal = (value: number | string | bigint) => Decimal.parse(String(value));

export const average = (sum: Decimal | null, count: number) =>
  sum && count > 0 ? Number(sum.toString()) / count : null;

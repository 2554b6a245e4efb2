import { Decimal } from '../../../platform/json/decimal.js';
import { ApiError } from '../../../platform/errors.js';
import type { Aggregation } from '../../../platform/http/stats.dto.js';

/** Values of a bucket. Unknown values are null. */
export interface BucketValues {
  sum: Decimal | null;
  count: number;
  /** Number of values that are not 0. */
  trues: number;
  min: Decimal | null;
  max: Decimal | null;
  average: number | null;
  percentiles: readonly (number | null)[];
}

export interface RequestedMetric {
  metric: string;
  aggregations?: readonly Aggregation[] | null;
  percentiles?: readonly number[] | null;
}

/** Aggregations of one metric, by default the sum. Each is listed once, in the requested order. */
export interface MetricAggregations<Metric extends string> {
  metric: Metric;
  aggregations: Aggregation[];
  percentiles: number[];
}

export function readMetrics<Metric extends string>(
  asked: readonly (RequestedMetric & { metric: Metric })[] | null | undefined,
): MetricAggregations<Metric>[] {
  const wanted = new Map<Metric, MetricAggregations<Metric>>();
  for (const { metric, aggregations, percentiles } of asked ?? []) {
    const one = wanted.get(metric) ?? { metric, aggregations: [], percentiles: [] };
    const isPlain = !aggregations?.length && !percentiles?.length;
    one.aggregations = [
      ...new Set([...one.aggregations, ...(isPlain ? ['sum' as const] : (aggregations ?? []))]),
    ];
    one.percentiles = [...new Set([...one.percentiles, ...(percentiles ?? [])])];
    wanted.set(metric, one);
  }
  return [...wanted.values()];
}

/** Maximum number of values in all buckets of one answer. Each value is printed in some 40 characters. */
const MAX_VALUES = 250_000;

/** Returns the maximum number of buckets. Each also has its time, its names and its count. */
export const mostBuckets = (wanted: readonly MetricAggregations<string>[]) =>
  Math.floor(
    MAX_VALUES /
      wanted.reduce(
        (sum, { aggregations, percentiles }) => sum + aggregations.length + percentiles.length,
        4,
      ),
  );

export const tooLarge = () =>
  new ApiError(
    'too_large',
    `the answer has over ${MAX_VALUES} values or too long names: ask for less time, longer buckets, or fewer groups, aggregations or percentiles`,
  );

const VALUE: Record<Aggregation, (values: BucketValues) => unknown> = {
  sum: ({ sum }) => sum,
  avg: ({ average }) => average,
  min: ({ min }) => min,
  max: ({ max }) => max,
  count: ({ count }) => count,
  count_true: ({ trues }) => trues,
  count_false: ({ count, trues }) => count - trues,
};

/** Returns the members of a bucket: `<aggregation>_<metric>` and `p<percent>_<metric>`. */
export function statMembers(
  { metric, aggregations, percentiles }: MetricAggregations<string>,
  values: BucketValues,
): Record<string, unknown> {
  return Object.fromEntries([
    ...aggregations.map((name) => [`${name}_${metric}`, VALUE[name](values)]),
    ...percentiles.map((percent, i) => [`p${percent}_${metric}`, values.percentiles[i] ?? null]),
  ]);
}

/** Returns the statistics of `count` values, of which `ones` are 1 and the others 0. */
export function flags(ones: number, count: number, percentiles: readonly number[]): BucketValues {
  const zeros = count - ones;
  const valueAt = (place: number) => (place < zeros ? 0 : 1);
  return {
    sum: decimal(ones),
    count,
    trues: ones,
    min: count > 0 ? decimal(zeros > 0 ? 0 : 1) : null,
    max: count > 0 ? decimal(ones > 0 ? 1 : 0) : null,
    average: average(decimal(ones), count),
    percentiles: percentiles.map((percent) => {
      if (count === 0) return null;
      const rank = (percent / 100) * (count - 1);
      const lower = valueAt(Math.floor(rank));
      return lower + (rank - Math.floor(rank)) * (valueAt(Math.ceil(rank)) - lower);
    }),
  };
}

export const decimal = (value: number | string | bigint) => Decimal.parse(String(value));

export const average = (sum: Decimal | null, count: number) =>
  sum && count > 0 ? Number(sum.toString()) / count : null;

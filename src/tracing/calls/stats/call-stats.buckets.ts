import { Decimal, printDecimals } from '../../../platform/json/decimal.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import type { TimeBuckets } from '../../statistics/time-buckets.js';
import type { PriceBook } from '../../pricing/price-book.js';
import type { CallMetric, UsageMetric } from './call-stats.dto.js';
import type { CallBucket, SpreadRow, UsageRow } from './call-stats.query.js';
import {
  average,
  decimal,
  flags,
  mostBuckets,
  percentileValues,
  statMembers,
  tooLarge,
  type BucketValues,
  type MetricStatistics,
} from './call-stats.values.js';

interface BucketFrame {
  buckets: TimeBuckets;
  groups: readonly string[];
}

const groupValues = ({ groups }: BucketFrame, row: Record<string, unknown>) =>
  Object.fromEntries(groups.map((name) => [name, row[name]]));

/**
 * Returns one JSON text for each bucket, also for buckets without calls. With groups, one for each group in a bucket.
 */
export async function callBuckets(
  frame: BucketFrame & { calls: readonly MetricStatistics<CallMetric>[] },
  rows: readonly CallBucket[],
): Promise<string[]> {
  const bucketText = (row: CallBucket) => printDecimals(callBucket(frame, row));
  if (frame.groups.length > 0) return mapYielding(rows, bucketText);
  const byBucket = new Map(rows.map((row) => [row.bucket, row]));
  return mapYielding(frame.buckets.starts, (_, bucket) =>
    bucketText(byBucket.get(bucket) ?? empty(bucket)),
  );
}

const empty = (bucket: number): CallBucket => ({
  bucket,
  call_count: 0,
  ended_count: 0,
  error_count: 0,
  instant_count: 0,
  latency_sum: null,
  latency_min: null,
  latency_max: null,
});

function callBucket(
  frame: BucketFrame & { calls: readonly MetricStatistics<CallMetric>[] },
  row: CallBucket,
): object {
  return {
    timestamp: frame.buckets.timestamp(row.bucket),
    ...groupValues(frame, row),
    count: row.call_count,
    ...Object.assign(
      {},
      ...frame.calls.map((wanted) => statMembers(wanted, callValues(wanted, row))),
    ),
  };
}

function callValues(
  { metric, percentiles }: MetricStatistics<CallMetric>,
  row: CallBucket,
): BucketValues {
  if (metric === 'call_count') return flags(row.call_count, row.call_count, percentiles);
  if (metric === 'error_count') return flags(row.error_count, row.call_count, percentiles);
  return {
    sum: milliseconds(row.latency_sum) ?? Decimal.zero,
    avg: average(milliseconds(row.latency_sum), row.ended_count),
    min: milliseconds(row.latency_min),
    max: milliseconds(row.latency_max),
    count: row.ended_count,
    count_true: row.ended_count - row.instant_count,
    count_false: row.instant_count,
    ...percentileValues(percentiles, row.percentiles),
  };
}

const milliseconds = (us: string | null) => (us && decimal(us).shifted(3)) || null;

interface UsageBucket {
  row: UsageRow;
  calls: number;
  unknownCalls: number;
  unpricedTokens: bigint;
  sums: Record<UsageMetric, Decimal | null>;
  units: Record<'input' | 'output', Set<string>>;
}

interface UsageStatistics {
  rows: readonly UsageRow[];
  spreads: readonly SpreadRow[];
  book: PriceBook | null;
}

/** Returns one JSON text for each model, and each group, in a bucket in which the model was used. */
export async function usageBuckets(
  frame: BucketFrame & { usage: readonly MetricStatistics<UsageMetric>[] },
  { rows, spreads, book }: UsageStatistics,
): Promise<string[]> {
  const bucketKey = (row: UsageRow | SpreadRow) =>
    JSON.stringify([row.bucket, row.llm_id, ...frame.groups.map((name) => row[name])]);
  const buckets = new Map<string, UsageBucket>();
  const limit = mostBuckets(frame.usage);
  await mapYielding(rows, (row) => {
    const key = bucketKey(row);
    let bucket = buckets.get(key);
    if (!bucket) buckets.set(key, (bucket = newBucket(row)));
    if (buckets.size > limit) throw tooLarge();
    add(bucket, row, book);
  });
  const byKey = new Map(spreads.map((spread) => [bucketKey(spread), spread]));
  return mapYielding([...buckets], ([key, bucket]) => {
    const values = frame.usage.map((wanted) =>
      statMembers(wanted, usageValues(wanted, bucket, byKey.get(key))),
    );
    return printDecimals({
      timestamp: frame.buckets.timestamp(bucket.row.bucket),
      model: bucket.row.llm_id,
      ...groupValues(frame, bucket.row),
      count: bucket.calls,
      ...Object.assign({}, ...values),
      ...(book && {
        unpriced_tokens: decimal(bucket.unpricedTokens),
        unknown_calls: bucket.unknownCalls,
        cost_unit: bucketUnit(bucket, ['input', 'output']),
      }),
    });
  });
}

const newBucket = (row: UsageRow): UsageBucket => ({
  row,
  calls: 0,
  unknownCalls: 0,
  unpricedTokens: 0n,
  sums: {
    input_tokens: Decimal.zero,
    output_tokens: Decimal.zero,
    total_tokens: Decimal.zero,
    cache_read_input_tokens: Decimal.zero,
    cache_creation_input_tokens: Decimal.zero,
    input_cost: null,
    output_cost: null,
    total_cost: null,
  },
  units: { input: new Set(), output: new Set() },
});

function add(bucket: UsageBucket, row: UsageRow, book: UsageStatistics['book']): void {
  const { sums, units } = bucket;
  const plus = (metric: UsageMetric, value: Decimal | null) => {
    if (value) sums[metric] = sums[metric]?.plus(value) ?? value;
  };
  const tokens = [
    BigInt(row.prompt_tokens),
    BigInt(row.completion_tokens),
    BigInt(row.cache_read_input_tokens),
    BigInt(row.cache_creation_input_tokens),
  ] as const;
  const [prompt, completion, cacheRead, cacheCreation] = tokens;
  const input = prompt + cacheRead + cacheCreation;
  bucket.calls += row.call_count;
  if (row.unknown_kinds > 0) bucket.unknownCalls += row.call_count;
  plus('input_tokens', decimal(input));
  plus('output_tokens', decimal(completion));
  plus('total_tokens', decimal(input + completion));
  plus('cache_read_input_tokens', decimal(cacheRead));
  plus('cache_creation_input_tokens', decimal(cacheCreation));
  if (!book) return;
  const spent = book.priceSpending({
    ...rowReach(row),
    tokens,
    details: row.details?.map(BigInt) ?? null,
    unknownKinds: row.unknown_kinds,
  });
  bucket.unpricedTokens += spent.unpricedTokens;
  plus('input_cost', spent.input);
  plus('output_cost', spent.output);
  plus('total_cost', spent.input);
  plus('total_cost', spent.output);
  if (spent.input) units.input.add(spent.inputUnit!);
  if (spent.output) units.output.add(spent.outputUnit!);
}

/** Returns the starts and the input tokens on which the prices of a row depend. */
export const rowReach = (row: UsageRow) => ({
  llmId: row.llm_id,
  segment: row.segment,
  first: new Date(row.first),
  last: new Date(row.last),
  minInput: row.min_input,
  maxInput: row.max_input,
});

const PARTS: Partial<Record<UsageMetric, ('input' | 'output')[]>> = {
  input_cost: ['input'],
  output_cost: ['output'],
  total_cost: ['input', 'output'],
};

/**
 * Returns the unit of the costs. Null if nothing has a price, or if units differ, because such costs cannot be summed
 * up.
 */
function bucketUnit({ units }: UsageBucket, parts: ('input' | 'output')[]): string | null {
  const all = new Set(parts.flatMap((part) => [...units[part]]));
  return all.size === 1 ? [...all][0]! : null;
}

function usageValues(
  { metric, percentiles }: MetricStatistics<UsageMetric>,
  bucket: UsageBucket,
  spread: SpreadRow | undefined,
): BucketValues {
  const parts = PARTS[metric];
  const sum = parts && bucketUnit(bucket, parts) === null ? null : bucket.sums[metric];
  if (!spread || !(`${metric}_count` in spread))
    return { sum, count: bucket.calls, avg: average(sum, bucket.calls) };
  const isMixed = parts && sum === null;
  const read = (name: string) => spread[`${metric}_${name}`];
  const number = (name: string) => {
    const value = read(name) as string | null;
    return value === null || isMixed ? null : decimal(value);
  };
  const count = read('count') as number;
  const count_true = read('count_true') as number;
  return {
    sum,
    avg: average(number('sum'), count),
    min: number('min'),
    max: number('max'),
    count,
    count_true,
    count_false: count - count_true,
    ...(!isMixed && percentileValues(percentiles, read('percentiles') as (number | null)[])),
  };
}

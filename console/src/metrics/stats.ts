import type { Schema } from '../api/client.ts';

export type StatsAnswer = Pick<
  Schema<'CallStatsAnswerDto'>,
  'granularity' | 'call_buckets' | 'usage_buckets'
>;
/** The calls of a bucket, or of a group in it. */
type CallBucket = StatsAnswer['call_buckets'][number];
/** The usage of one model in a bucket, or in a group of it. */
type UsageBucket = StatsAnswer['usage_buckets'][number];

function bucketValue(one: CallBucket | UsageBucket, name: string): number | null {
  const value = one[name];
  return typeof value === 'number' ? value : null;
}

/** The cost in a bucket; null without a price, or with prices in several units. */
function costIn(one: UsageBucket): { unit: string; cost: number } | null {
  const cost = bucketValue(one, 'sum_total_cost');
  const { cost_unit: unit = null } = one;
  return cost === null || unit === null ? null : { unit, cost };
}

const groupName = (one: CallBucket | UsageBucket, member: string): string | null => {
  const name = one[member];
  return typeof name === 'string' ? name : null;
};

/** Amounts keyed by currency unit: amounts of different units are never added. */
type Money = ReadonlyMap<string, number>;

export interface Spending {
  inputTokens: number;
  outputTokens: number;
  unpricedTokens: number;
  cost: Money;
}

export interface UsageRow extends Spending {
  /** Null for calls without a user. */
  name: string | null;
  calls: number;
  /** Absent for models: only their usage is known. */
  errors?: number;
  p50?: number | null;
  p95?: number | null;
  p99?: number | null;
}

function sumSpent(buckets: readonly UsageBucket[]): Spending {
  const spent = { inputTokens: 0, outputTokens: 0, unpricedTokens: 0 };
  const cost = new Map<string, number>();
  for (const one of buckets) {
    spent.inputTokens += bucketValue(one, 'sum_input_tokens') ?? 0;
    spent.outputTokens += bucketValue(one, 'sum_output_tokens') ?? 0;
    spent.unpricedTokens += one.unpriced_tokens ?? 0;
    const found = costIn(one);
    if (found) cost.set(found.unit, (cost.get(found.unit) ?? 0) + found.cost);
  }
  return { ...spent, cost };
}

const callCounts = (one: CallBucket | undefined) => ({
  calls: one?.count ?? 0,
  errors: (one && bucketValue(one, 'sum_error_count')) ?? 0,
  p50: (one && bucketValue(one, 'p50_latency_ms')) ?? null,
  p95: (one && bucketValue(one, 'p95_latency_ms')) ?? null,
  p99: (one && bucketValue(one, 'p99_latency_ms')) ?? null,
});

const groupBuckets = (buckets: readonly UsageBucket[], member: string) => {
  const groups = new Map<string | null, UsageBucket[]>();
  for (const one of buckets) {
    const name = groupName(one, member);
    const group = groups.get(name);
    if (group) group.push(one);
    else groups.set(name, [one]);
  }
  return groups;
};

export function wholeWindow({ call_buckets, usage_buckets }: Omit<StatsAnswer, 'granularity'>) {
  const models = [...groupBuckets(usage_buckets, 'model')].map(([name, buckets]): UsageRow => ({
    name,
    calls: buckets.reduce((sum, { count }) => sum + count, 0),
    ...sumSpent(buckets),
  }));
  return { ...callCounts(call_buckets[0]), ...sumSpent(usage_buckets), models };
}

export function statGroups(
  { call_buckets, usage_buckets }: Omit<StatsAnswer, 'granularity'>,
  member: string,
): UsageRow[] {
  const usage = groupBuckets(usage_buckets, member);
  return call_buckets.map((one) => {
    const name = groupName(one, member);
    return { name, ...callCounts(one), ...sumSpent(usage.get(name) ?? []) };
  });
}

/** Series with one number a bucket. A model has numbers only for buckets with its usage. */
export function statSeries({ granularity, call_buckets, usage_buckets }: StatsAnswer, end: number) {
  const starts = call_buckets.map(({ timestamp }) => Date.parse(timestamp) / 1000);
  const indexes = new Map(call_buckets.map(({ timestamp }, index) => [timestamp, index]));
  const models = new Map<string, { tokens: number[]; cost: Map<string, number[]> }>();
  const zeros = () => starts.map(() => 0);
  for (const one of usage_buckets) {
    const index = indexes.get(one.timestamp)!;
    let model = models.get(one.model);
    if (!model) models.set(one.model, (model = { tokens: zeros(), cost: new Map() }));
    model.tokens[index] =
      (bucketValue(one, 'sum_input_tokens') ?? 0) + (bucketValue(one, 'sum_output_tokens') ?? 0);
    const found = costIn(one);
    if (!found) continue;
    const costs = model.cost.get(found.unit) ?? zeros();
    costs[index] = found.cost;
    model.cost.set(found.unit, costs);
  }
  return {
    granularity,
    starts,
    /** The end of the last bucket, which may be in the future. */
    until: Math.max(end / 1000, (starts.at(-1) ?? 0) + granularity),
    calls: call_buckets.map(({ count }) => count),
    errors: call_buckets.map((one) => bucketValue(one, 'sum_error_count') ?? 0),
    p50: call_buckets.map((one) => bucketValue(one, 'p50_latency_ms')),
    p95: call_buckets.map((one) => bucketValue(one, 'p95_latency_ms')),
    p99: call_buckets.map((one) => bucketValue(one, 'p99_latency_ms')),
    models,
  };
}

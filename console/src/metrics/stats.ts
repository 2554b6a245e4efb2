import { queryOptions } from '@tanstack/react-query';
import { type BodyOf, post } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import { granularityOf, type MetricsSearch, windowOf } from './search.ts';

/** Calls of a bucket, or of a group in it. */
interface CallBucket {
  timestamp: string;
  count: number;
  sum_error_count: number;
  p50_latency_ms: number | null;
  p95_latency_ms: number | null;
  p99_latency_ms: number | null;
  [group: string]: unknown;
}

/** What the calls of a bucket, or of a group in it, spent on a model. */
interface UsageBucket {
  timestamp: string;
  model: string;
  count: number;
  sum_input_tokens: number;
  sum_output_tokens: number;
  sum_total_cost: number | null;
  unpriced_tokens: number;
  cost_unit: string | null;
  [group: string]: unknown;
}

type Request = BodyOf<'/calls/stats'>;

const METRICS = {
  call_metrics: [
    { metric: 'error_count' as const },
    { metric: 'latency_ms' as const, percentiles: [50, 95, 99] },
  ],
  usage_metrics: [
    { metric: 'input_tokens' as const },
    { metric: 'output_tokens' as const },
    { metric: 'total_cost' as const },
  ],
};

/** Longer than any window: one bucket from 1970 on. */
const ONE_BUCKET = 2_147_472_000;
/** The viewer's. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const REFRESH_MS = 15_000;

interface Answer {
  granularity: number;
  call_buckets: CallBucket[];
  usage_buckets: UsageBucket[];
}

const ask = async (body: Request, signal: AbortSignal): Promise<Answer> =>
  (await post('/calls/stats', body, { signal })) as unknown as Answer;

const requestOf = (project_id: string, search: MetricsSearch) => {
  const { start, end } = windowOf(search, Date.now());
  return {
    project_id,
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    timezone: ZONE,
    ...(search.roots && { filter: { trace_roots_only: true } }),
    ...METRICS,
  };
};

/** A window that ends now moves on. */
const refresh = ({ from }: MetricsSearch) => ({
  refetchInterval: from === undefined ? REFRESH_MS : (false as const),
  staleTime: REFRESH_MS,
});

/** The window in buckets and as a whole, both of the same calls. */
export const statsQuery = (project: string, search: MetricsSearch) => {
  const { range, from, to, step, roots } = search;
  return queryOptions({
    queryKey: ['stats', project, { range, from, to, step, roots }],
    queryFn: async ({ signal }) => {
      const request = requestOf(project, search);
      const [start, end] = [Date.parse(request.start), Date.parse(request.end)];
      const granularity = granularityOf(search, (end - start) / 1000);
      const [series, whole] = await Promise.all([
        ask({ ...request, granularity }, signal),
        ask({ ...request, granularity: ONE_BUCKET }, signal),
      ]);
      return { end, series: seriesOf(series, end), whole: wholeOf(whole) };
    },
    ...refresh(search),
  });
};

export type Stats = Awaited<ReturnType<NonNullable<ReturnType<typeof statsQuery>['queryFn']>>>;

/** The window by op or by user. */
export const groupsQuery = (project: string, search: MetricsSearch, by: 'op' | 'user') => {
  const { range, from, to, roots } = search;
  return queryOptions({
    queryKey: ['stats', project, { range, from, to, roots }, by],
    queryFn: async ({ signal }) => {
      const name = by === 'op' ? 'op_name' : wire.userId;
      const body = { granularity: ONE_BUCKET, group_by: [name] } as Partial<Request>;
      return groupsOf(await ask({ ...requestOf(project, search), ...body }, signal), name);
    },
    ...refresh(search),
  });
};

/** Money by unit: that of two units is not one sum. */
type Money = ReadonlyMap<string, number>;

/** Tokens and what they cost. */
export interface Spent {
  inputTokens: number;
  outputTokens: number;
  unpricedTokens: number;
  cost: Money;
}

/** What is known of the calls of a model, an op or a user. */
export interface Row extends Spent {
  /** Null for calls that say no user. */
  name: string | null;
  calls: number;
  /** Of a model there is nothing but what it spent. */
  errors?: number;
  p50?: number | null;
  p95?: number | null;
  p99?: number | null;
}

function spentOf(buckets: readonly UsageBucket[]): Spent {
  const spent = { inputTokens: 0, outputTokens: 0, unpricedTokens: 0 };
  const cost = new Map<string, number>();
  for (const one of buckets) {
    spent.inputTokens += one.sum_input_tokens;
    spent.outputTokens += one.sum_output_tokens;
    spent.unpricedTokens += one.unpriced_tokens;
    if (one.sum_total_cost !== null && one.cost_unit !== null)
      cost.set(one.cost_unit, (cost.get(one.cost_unit) ?? 0) + one.sum_total_cost);
  }
  return { ...spent, cost };
}

const callsOf = (one: CallBucket | undefined) => ({
  calls: one?.count ?? 0,
  errors: one?.sum_error_count ?? 0,
  p50: one?.p50_latency_ms ?? null,
  p95: one?.p95_latency_ms ?? null,
  p99: one?.p99_latency_ms ?? null,
});

const grouped = (buckets: readonly UsageBucket[], member: string) => {
  const groups = new Map<string | null, UsageBucket[]>();
  for (const one of buckets) {
    const name = (one[member] as string | null) ?? null;
    const group = groups.get(name);
    if (group) group.push(one);
    else groups.set(name, [one]);
  }
  return groups;
};

export function wholeOf({ call_buckets, usage_buckets }: Omit<Answer, 'granularity'>) {
  const models = [...grouped(usage_buckets, 'model')].map(([name, buckets]): Row => ({
    name,
    calls: buckets.reduce((sum, { count }) => sum + count, 0),
    ...spentOf(buckets),
  }));
  return { ...callsOf(call_buckets[0]), ...spentOf(usage_buckets), models };
}

export function groupsOf(
  { call_buckets, usage_buckets }: Omit<Answer, 'granularity'>,
  member: string,
): Row[] {
  const usage = grouped(usage_buckets, member);
  return call_buckets.map((one) => {
    const name = (one[member] as string | null) ?? null;
    return { name, ...callsOf(one), ...spentOf(usage.get(name) ?? []) };
  });
}

/** Columns of numbers, one number a bucket; of models only those in which they were used. */
export function seriesOf({ granularity, call_buckets, usage_buckets }: Answer, end: number) {
  const starts = call_buckets.map(({ timestamp }) => Date.parse(timestamp) / 1000);
  const indexes = new Map(call_buckets.map(({ timestamp }, index) => [timestamp, index]));
  const models = new Map<string, { tokens: number[]; cost: Map<string, number[]> }>();
  const zeros = () => starts.map(() => 0);
  for (const one of usage_buckets) {
    const index = indexes.get(one.timestamp)!;
    let model = models.get(one.model);
    if (!model) models.set(one.model, (model = { tokens: zeros(), cost: new Map() }));
    model.tokens[index] = one.sum_input_tokens + one.sum_output_tokens;
    if (one.sum_total_cost === null || one.cost_unit === null) continue;
    const costs = model.cost.get(one.cost_unit) ?? zeros();
    costs[index] = one.sum_total_cost;
    model.cost.set(one.cost_unit, costs);
  }
  return {
    granularity,
    starts,
    /** The end of the last bucket, which may be still to come. */
    until: Math.max(end / 1000, (starts.at(-1) ?? 0) + granularity),
    calls: call_buckets.map(({ count }) => count),
    errors: call_buckets.map(({ sum_error_count }) => sum_error_count),
    p50: call_buckets.map(({ p50_latency_ms }) => p50_latency_ms),
    p95: call_buckets.map(({ p95_latency_ms }) => p95_latency_ms),
    p99: call_buckets.map(({ p99_latency_ms }) => p99_latency_ms),
    models,
  };
}

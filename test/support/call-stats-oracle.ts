import { Decimal } from '../../src/platform/json/decimal.js';
import { storable } from '../../src/platform/query/columns.js';

type Metric = { metric: string; aggregations?: string[]; percentiles?: number[] };

/** A call as `/calls/query` returns it with costs. */
interface AnsweredCall {
  started_at: string;
  ended_at: string | null;
  exception: string | null;
  op_name: string;
  svc_user_id: string;
  summary: { svc: { status: string; costs: Record<string, any> } };
}

const micros = (time: string) =>
  BigInt(Date.parse(`${time.slice(0, 23)}Z`)) * 1000n + BigInt(time.slice(23, 26));

const COSTS = {
  input: ['prompt_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  output: ['completion_tokens'],
};

/** The value of a metric for one model of one call; null when it is unknown. */
function usageValue(metric: string, cost: any): Decimal | null {
  const tokens = (names: string[]) =>
    names.reduce((sum, name) => sum.plus(Decimal.parse(String(cost[name]))), Decimal.zero);
  const all = [...COSTS.input, ...COSTS.output];
  if (metric === 'input_tokens') return tokens(COSTS.input);
  if (metric === 'output_tokens') return tokens(COSTS.output);
  if (metric === 'total_tokens') return tokens(all);
  if (metric.endsWith('_tokens')) return tokens([metric]);
  const names =
    metric === 'input_cost' ? COSTS.input : metric === 'output_cost' ? COSTS.output : all;
  if (cost.pricing_level === 'unpriced') return null;
  let sum = Decimal.zero;
  for (const name of names) {
    const total = cost[`${name}_total_cost`];
    if (total !== null) sum = sum.plus(Decimal.parse(String(total)));
    else if (cost[`${name.replace(/s$/, '')}_cost`] === null && cost[name] === 0) continue;
    else return null;
  }
  return sum;
}

/** The sum over the kinds of tokens with a known cost, as in `sum_…_cost`; null when none is known. */
function costSum(metric: string, costs: any[]): Decimal | null {
  const names =
    metric === 'input_cost'
      ? COSTS.input
      : metric === 'output_cost'
        ? COSTS.output
        : [...COSTS.input, ...COSTS.output];
  let sum: Decimal | null = null;
  for (const cost of costs)
    for (const name of names) {
      const total = cost[`${name}_total_cost`];
      if (total !== null) sum = (sum ?? Decimal.zero).plus(Decimal.parse(String(total)));
    }
  return sum;
}

const number = (value: Decimal | null) => (value === null ? null : Number(value.toString()));

function percentile(values: number[], percent: number): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const rank = (percent / 100) * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
  return low + (rank - Math.floor(rank)) * (high - low);
}

function members(metric: Metric, values: Decimal[], sum: Decimal | null): Record<string, unknown> {
  const numbers = values.map((value) => number(value)!);
  const total = values.reduce((a, b) => a.plus(b), Decimal.zero);
  const all: Record<string, unknown> = {
    sum: number(sum),
    avg: numbers.length > 0 ? number(total)! / numbers.length : null,
    min: numbers.length > 0 ? Math.min(...numbers) : null,
    max: numbers.length > 0 ? Math.max(...numbers) : null,
    count: numbers.length,
    count_true: numbers.filter((value) => value !== 0).length,
    count_false: numbers.filter((value) => value === 0).length,
  };
  const names = metric.aggregations ?? [];
  return Object.fromEntries([
    ...names.map((name) => [`${name}_${metric.metric}`, all[name]]),
    ...(metric.percentiles ?? []).map((p) => [`p${p}_${metric.metric}`, percentile(numbers, p)]),
  ]);
}

export interface StatsRequest {
  start: string;
  end: string;
  call_metrics: Metric[];
  usage_metrics: Metric[];
  group_by?: string[];
}

/** Computes the expected answer of `/calls/stats` from all calls, for buckets that begin at `starts`. */
export function statsOf(calls: AnsweredCall[], starts: string[], request: StatsRequest) {
  const groups = request.group_by ?? [];
  const since = micros(canonical(request.start));
  const until = micros(canonical(request.end));
  const begins = starts.map(micros);
  const inside = calls.flatMap((call) => {
    const at = micros(call.started_at);
    if (at < since || at >= until) return [];
    const valueOf: Record<string, string> = {
      op_name: call.op_name,
      svc_user_id: call.svc_user_id,
      status: call.summary.svc.status,
    };
    const group = Object.fromEntries(groups.map((name) => [name, valueOf[name]]));
    return [{ call, bucket: begins.findLastIndex((begin) => begin <= at), group }];
  });
  const grouped = new Map<string, typeof inside>();
  const keyOf = (bucket: number, group: object) => JSON.stringify([bucket, group]);
  if (groups.length === 0) starts.forEach((_, bucket) => grouped.set(keyOf(bucket, {}), []));
  for (const item of inside) {
    const key = keyOf(item.bucket, item.group);
    grouped.set(key, [...(grouped.get(key) ?? []), item]);
  }
  const callBuckets = [...grouped].map(([key, items]) => {
    const [bucket, group] = JSON.parse(key);
    const values: Record<string, Decimal[]> = {
      call_count: items.map(() => Decimal.parse('1')),
      error_count: items.map(({ call }) => Decimal.parse(call.exception === null ? '0' : '1')),
      latency_ms: items.flatMap(({ call }) =>
        call.ended_at === null || micros(call.ended_at) < micros(call.started_at)
          ? []
          : [Decimal.parse(String(micros(call.ended_at) - micros(call.started_at))).shifted(3)],
      ),
    };
    return Object.assign(
      { timestamp: starts[bucket], ...group, count: items.length },
      ...request.call_metrics.map((metric) => {
        const list = values[metric.metric]!;
        return members(
          metric,
          list,
          list.reduce((a, b) => a.plus(b), Decimal.zero),
        );
      }),
    );
  });
  const used = new Map<string, any[]>();
  for (const { call, bucket, group } of inside)
    for (const [model, cost] of Object.entries(call.summary.svc.costs)) {
      const key = JSON.stringify([bucket, storable(model), group]);
      used.set(key, [...(used.get(key) ?? []), cost]);
    }
  const hasCosts = request.usage_metrics.some(({ metric }) => metric.endsWith('_cost'));
  const usageBuckets = [...used].map(([key, costs]) => {
    const [bucket, model, group] = JSON.parse(key);
    return Object.assign(
      { timestamp: starts[bucket], model, ...group, count: costs.length },
      ...request.usage_metrics.map((metric) => {
        const values = costs.flatMap((cost) => usageValue(metric.metric, cost) ?? []);
        const sum = metric.metric.endsWith('_cost')
          ? costSum(metric.metric, costs)
          : values.reduce((a, b) => a.plus(b), Decimal.zero);
        return members(metric, values, sum);
      }),
      hasCosts && {
        unpriced_tokens: costs.reduce(
          (sum, cost) =>
            sum +
            [...COSTS.input, ...COSTS.output].reduce(
              (tokens, name) => tokens + (cost[`${name}_total_cost`] === null ? cost[name] : 0),
              0,
            ),
          0,
        ),
      },
    );
  });
  return { callBuckets, usageBuckets };
}

const canonical = (time: string) => (time.length === 27 ? time : time.replace('Z', '000Z'));

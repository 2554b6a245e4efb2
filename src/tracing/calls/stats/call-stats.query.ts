// SQL: statistics of calls are read from calls, and from their stored statistics.
import { allOf, identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import { lookedUp, unseen } from '../../../platform/query/plans.js';
import { IS_TIMED, LATENCY_MS, visibleIn } from '../../visible-calls.js';
import { STATUS } from '../read/calls.query.js';
import { endUser } from '../read/end-user.js';
import { ALL_WIRE } from '../../../platform/http/wire-names.js';
import { kindCost } from '../../pricing/prices.query.js';
import {
  type NamedSql,
  type Percentile,
  percentilesOf,
  selectList,
  type ValueStatistics,
} from '../../statistics/statistics.query.js';
import { isWithin, type TimeBuckets, type TimeSpan } from '../../statistics/time-buckets.js';
import { countedUsage } from '../usage/counted-usage.query.js';
import { detailSums } from '../usage/token-details.query.js';
import { CALL_TOTALS, LATENCY_US, USAGE_TOTALS } from './call-slots.query.js';
import type { UsageMetric } from './call-stats.dto.js';
import type { SortedLatencies } from './latencies.js';

/** Begins a transaction whose statements all see the same rows. */
export const SNAPSHOT = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;

/** The calls of a request, and their groups. */
export interface StatsSelection {
  projectId: string;
  buckets: TimeBuckets;
  /** Condition on a call `c`. Always true if stored statistics are read. */
  condition: Sql;
  /** The part of `condition` on sources. It also applies to the calls below roots. */
  sources: Sql | null;
  /** Empty if stored statistics are read. */
  groups: readonly string[];
  /** True if the usage includes everything below the calls, which are roots. */
  isOfTraces: boolean;
}

export interface StatsReading extends StatsSelection {
  /** Spans in which calls are read, and spans in which stored statistics are read. Together they are the window. */
  fresh: readonly TimeSpan[];
  stored: readonly TimeSpan[];
  /** Times at which prices change in the window, and numbers of input tokens from which prices may differ. */
  changes: readonly string[];
  tiers: readonly number[];
}

export const MAX_ROWS = 50_000;
/** Maximum bytes of these rows. Names have up to 1024 characters. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface OrderedRows<Row> {
  rows: Sql<Row>;
  order: Sql;
}

/** Selects at most `limit` rows. If the rows are more or too large, returns only `is_too_large`. */
export const boundedRowsQuery = <Row>(
  { rows, order }: OrderedRows<Row>,
  limit: number,
): Sql<Row & { is_too_large: boolean }> => sql`
  WITH found AS MATERIALIZED (${rows} LIMIT ${limit + 1}::bigint)
  SELECT size.is_too_large, found.* FROM (
    SELECT count(*) > ${limit}::bigint OR sum(octet_length(found::text)) > ${MAX_BYTES}::bigint AS is_too_large FROM found) size
  LEFT JOIN found ON NOT size.is_too_large WHERE size.is_too_large OR found.bucket IS NOT NULL ORDER BY ${order}`;

const GROUP_VALUES: Record<string, (projectId: string) => Sql> = {
  op_name: () => sql`c.op_name`,
  ...Object.fromEntries(ALL_WIRE.map(({ userId }) => [userId, () => sql`c.user_id`])),
  end_user: endUser,
  status: () => sql`${STATUS}`,
};

export const markedSlots = (projectId: string, span: TimeSpan, limit: number) => sql<{
  ms: number;
}>`
  SELECT (extract(epoch FROM m.slot) * 1000)::float8 AS ms FROM call_slot_marks m
  WHERE m.project_id = ${projectId} AND ${isWithin(sql`m.slot`, span)}
  GROUP BY m.slot ORDER BY m.slot LIMIT ${limit}::bigint`;

/** Selects the parents and responses that the marks of a project name, with repetitions, at most `limit` of each. */
export const markedNames = (projectId: string, limit: number) => sql<{
  parents: string[];
  responses: string[];
  slots: string[];
}>`
  SELECT ARRAY(SELECT unnest(m.parent_ids) FROM call_slot_marks m WHERE m.project_id = ${projectId} LIMIT ${limit}::bigint) AS parents,
    r.responses, r.slots
  FROM (SELECT coalesce(array_agg(r.response), '{}') AS responses, coalesce(array_agg(r.slot::text), '{}') AS slots FROM (
    SELECT unnest(m.response_ids) AS response, m.slot FROM call_slot_marks m WHERE m.project_id = ${projectId} LIMIT ${limit}::bigint) r) r`;

const groupValues = ({ projectId, groups }: StatsSelection): NamedSql =>
  Object.fromEntries(groups.map((name) => [name, GROUP_VALUES[name]!(projectId)]));

const spans = (list: readonly TimeSpan[]) =>
  sql`unnest(${list.map(({ since }) => since)}::timestamptz[], ${list.map(({ until }) => until)}::timestamptz[]) AS r (since, until)`;

/** The calls to read. LATERAL, so that each time span is one range of the index of starts. */
const fromCalls = ({ projectId, fresh, condition }: StatsReading) =>
  sql`FROM ${spans(fresh)} CROSS JOIN LATERAL (
    SELECT c.* FROM calls c WHERE ${visibleIn(projectId)}
      AND c.started_at >= r.since AND c.started_at < r.until AND ${condition}) c`;

const fromSlots = ({ projectId, stored }: StatsReading, table: Sql) =>
  sql`FROM ${spans(stored)} CROSS JOIN LATERAL (
    SELECT s.* FROM ${table} s WHERE s.project_id = ${projectId} AND s.slot >= r.since AND s.slot < r.until) s`;

/** The usage of models by the calls: rows `u` with the start and the groups of the call, or of its root. */
function fromUsage(reading: StatsReading): Sql {
  const { projectId, isOfTraces } = reading;
  const values = { started_at: sql`c.started_at`, ...groupValues(reading) };
  const usage = isOfTraces
    ? countedUsage(
        projectId,
        belowRoots(reading, values),
        join(Object.keys(values).map((name) => sql`c.${rootName(name)} AS ${identifier(name)}`)),
      )
    : countedUsage(projectId, sql`SELECT c.* ${fromCalls(reading)}`, selectList(values));
  return sql`FROM (${usage}) u`;
}

/** Names a value of a root. It stands beside the columns of the calls below the root. */
const rootName = (name: string) => identifier(`root_${name}`);

/** Selects calls with usage among roots and all calls below them, each with the values of its root. */
function belowRoots(reading: StatsReading, values: NamedSql): Sql {
  const { projectId, sources } = reading;
  const roots = Object.entries(values).map(([name, value]) => sql`${value} AS ${rootName(name)}`);
  const names = join(Object.keys(values).map((name) => sql`t.${rootName(name)}`));
  return sql`
    WITH RECURSIVE tree AS (
      SELECT c.id AS root_id, c.id, c.trace_id, ${join(roots)} ${fromCalls(reading)}
      UNION ALL
      SELECT t.root_id, c.id, t.trace_id, ${names} FROM tree t ${lookedUp(
        sql`SELECT c.id FROM calls c
          WHERE ${visibleIn(projectId)} AND c.parent_id = t.id AND c.id <> t.root_id AND ${unseen(sql`c.trace_id = t.trace_id`)}`,
        'c',
      )}
    )
    SELECT c.*, ${names} FROM tree t ${lookedUp(
      sql`SELECT c.* FROM calls c WHERE ${allOf(visibleIn(projectId), sql`c.id = t.id AND c.usage IS NOT NULL`, sources)}`,
      'c',
    )}`;
}

/** Combines statistics of calls with stored statistics, if both kinds of spans are in the window. */
function both<Row>(
  { fresh, stored }: StatsReading,
  ofCalls: Sql<Row>,
  ofSlots: Sql<Row>,
): Sql<Row> {
  if (stored.length === 0) return ofCalls;
  return fresh.length === 0 ? ofSlots : sql`${ofCalls} UNION ALL ${ofSlots}`;
}

/**
 * Statistics of calls in a bucket. Latencies are microseconds, and sums are texts. `percentiles` are milliseconds, and
 * present only if calls are read.
 */
export interface CallBucket extends Record<string, unknown> {
  bucket: number;
  call_count: number;
  /** Number of calls with a known duration. */
  ended_count: number;
  error_count: number;
  /** Number of calls that ended at the time of their start. */
  instant_count: number;
  latency_sum: string | null;
  latency_min: string | null;
  latency_max: string | null;
  percentiles?: (number | null)[] | null;
}

/** Returns the statistics of calls for each bucket. Pass percentiles only if no stored statistics are read. */
export function callRows(
  reading: StatsReading,
  percentiles: readonly Percentile[] = [],
): OrderedRows<CallBucket> {
  const { buckets, groups } = reading;
  const keys = join(['bucket', ...groups].map(identifier));
  const ofCalls = sql`SELECT ${selectList({ bucket: buckets.at(sql`c.started_at`), ...groupValues(reading) })}, ${CALL_TOTALS},
    ${percentilesOf(LATENCY_MS, percentiles)} AS percentiles ${fromCalls(reading)} GROUP BY ${keys}`;
  const ofSlots = sql`SELECT ${buckets.at(sql`s.slot`)} AS bucket, s.call_count, s.ended_count, s.error_count, s.instant_count,
    s.latency_sum, s.latency_min, s.latency_max, NULL::float8[] AS percentiles ${fromSlots(reading, sql`call_slots`)}`;
  const rows: Sql<CallBucket> = sql`SELECT ${keys}, sum(call_count)::float8 AS call_count,
    sum(ended_count)::float8 AS ended_count, sum(error_count)::float8 AS error_count, sum(instant_count)::float8 AS instant_count,
    sum(latency_sum)::text AS latency_sum, min(latency_min)::text AS latency_min, max(latency_max)::text AS latency_max,
    min(percentiles) AS percentiles FROM (${both(reading, ofCalls, ofSlots)}) t GROUP BY ${keys}`;
  return { rows, order: keys };
}

interface BucketLatencies {
  bucket: number;
  latencies: SortedLatencies;
}

/**
 * Selects latencies of the calls that started within a time span, as sorted lists of eight bytes each, with their
 * buckets.
 */
export function latencyLists(reading: StatsReading, span: TimeSpan): Sql<BucketLatencies> {
  const { buckets } = reading;
  const ofCalls: Sql<BucketLatencies> = sql`SELECT ${buckets.at(sql`c.started_at`)} AS bucket,
    string_agg(int8send(${LATENCY_US}), ''::bytea ORDER BY ${LATENCY_US}) AS latencies ${fromCalls(reading)}
    WHERE ${IS_TIMED} AND ${isWithin(sql`c.started_at`, span)}
    GROUP BY bucket`;
  const ofSlots: Sql<BucketLatencies> = sql`SELECT ${buckets.at(sql`s.slot`)} AS bucket, s.latencies ${fromSlots(reading, sql`call_slots`)}
    WHERE s.latencies IS NOT NULL AND ${isWithin(sql`s.slot`, span)}`;
  return both(reading, ofCalls, ofSlots);
}

/**
 * Usage of a model by calls in a bucket. All have the same price, if the prices at `min_input` and `max_input`, and at
 * `first` and `last`, are the same.
 */
export interface UsageRow extends Record<string, unknown> {
  bucket: number;
  llm_id: string;
  segment: number;
  tier: number;
  unknown_kinds: number;
  call_count: number;
  prompt_tokens: string;
  completion_tokens: string;
  cache_read_input_tokens: string;
  cache_creation_input_tokens: string;
  min_input: number;
  max_input: number;
  /** Tokens of `DETAILS`, in their order. */
  details: string[] | null;
  /** First and last start, in milliseconds since 1970. */
  first: number;
  last: number;
}

/** Values of the usage `u` by which calls and their prices differ. */
const usageKeys = ({ buckets, changes, tiers, groups }: StatsReading) => ({
  bucket: buckets.at(sql`u.started_at`),
  llm_id: sql`u.llm_id`,
  segment: sql`width_bucket(u.started_at, ${changes}::timestamptz[])`,
  tier: sql`width_bucket(u.input_tokens, ${tiers}::bigint[])`,
  unknown_kinds: sql`u.unknown_kinds`,
  ...Object.fromEntries(groups.map((name) => [name, sql`u.${identifier(name)}`])),
});

export function usageRows(reading: StatsReading): OrderedRows<UsageRow> {
  const { buckets, changes, groups } = reading;
  const keys = usageKeys(reading);
  const names = join(Object.keys(keys).map(identifier));
  const ofCalls = sql`SELECT ${selectList(keys)}, ${USAGE_TOTALS}, min(u.started_at) AS first, max(u.started_at) AS last
    ${fromUsage(reading)} GROUP BY ${names}`;
  const ofSlots = sql`SELECT ${buckets.at(sql`s.slot`)} AS bucket, s.llm_id, width_bucket(s.slot, ${changes}::timestamptz[]) AS segment,
    s.tier, s.unknown_kinds, s.call_count, s.prompt_tokens, s.completion_tokens, s.cache_read_input_tokens,
    s.cache_creation_input_tokens, s.min_input, s.max_input, s.details, s.slot AS first,
    s.slot + interval '4 minutes 59.999999 seconds' AS last ${fromSlots(reading, sql`call_slot_models`)}`;
  const rows: Sql<UsageRow> = sql`SELECT ${names}, sum(call_count)::float8 AS call_count,
    sum(prompt_tokens)::text AS prompt_tokens, sum(completion_tokens)::text AS completion_tokens,
    sum(cache_read_input_tokens)::text AS cache_read_input_tokens,
    sum(cache_creation_input_tokens)::text AS cache_creation_input_tokens, min(min_input)::float8 AS min_input,
    max(max_input)::float8 AS max_input, (${detailSums(sql`t.details`)})::text[] AS details,
    (extract(epoch FROM min(first)) * 1000)::float8 AS first, (extract(epoch FROM max(last)) * 1000)::float8 AS last
    FROM (${both(reading, ofCalls, ofSlots)}) t GROUP BY ${names}`;
  const order = join([sql`bucket, llm_id COLLATE "C"`, ...groups.map(identifier)]);
  return { rows, order: sql`${order}, segment, tier, unknown_kinds` };
}

/** Price of a token of each kind, for a model, a segment and a tier. Null if it has no price. */
export interface PriceRow {
  /** Null for a model without a price. */
  llm_id: string | null;
  segment: number;
  tier: number;
  prices: readonly (string | null)[];
  /** Prices of `DETAILS`, as an array of PostgreSQL. Null if details cost as much as their kinds. */
  details: string | null;
  hasOneUnit: boolean;
}

export interface SpreadRow extends Record<string, unknown> {
  bucket: number;
  llm_id: string;
}

const DETAIL_PRICES = sql`p.detail_prices`;
const INPUT_COST = sql`CASE WHEN p.llm_id IS NOT NULL THEN
  ${kindCost('prompt_tokens', sql`p.prompt`, DETAIL_PRICES)}
  + ${kindCost('cache_read_input_tokens', sql`p.cache_read`, DETAIL_PRICES)}
  + ${kindCost('cache_creation_input_tokens', sql`p.cache_creation`, DETAIL_PRICES)} END`;
const OUTPUT_COST = sql`CASE WHEN p.llm_id IS NOT NULL THEN
  ${kindCost('completion_tokens', sql`p.completion`, DETAIL_PRICES)} END`;

const VALUES: Record<UsageMetric, Sql> = {
  input_tokens: sql`u.input_tokens::numeric`,
  output_tokens: sql`u.completion_tokens::numeric`,
  total_tokens: sql`u.input_tokens::numeric + u.completion_tokens`,
  cache_read_input_tokens: sql`u.cache_read_input_tokens::numeric`,
  cache_creation_input_tokens: sql`u.cache_creation_input_tokens::numeric`,
  input_cost: INPUT_COST,
  output_cost: OUTPUT_COST,
  total_cost: sql`CASE WHEN p.has_one_unit THEN ${INPUT_COST} + ${OUTPUT_COST} END`,
};

/**
 * Returns how values are spread over the calls of each bucket and model. Reads all calls. Columns have names such as
 * `<metric>_min`. A call whose cost is unknown does not count.
 */
export function spreadRows(
  reading: StatsReading,
  metrics: readonly (ValueStatistics & { metric: UsageMetric })[],
  prices: readonly PriceRow[],
): OrderedRows<SpreadRow> {
  const ofKind = (kind: number) => prices.map((row) => row.prices[kind]);
  const { segment, tier, unknown_kinds: _, ...keys } = usageKeys(reading);
  const values = Object.fromEntries(metrics.map(({ metric }) => [metric, VALUES[metric]]));
  const names = join(Object.keys(keys).map(identifier));
  const columns = metrics.map(({ metric, percentiles }) => {
    const named = (name: string) => identifier(`${metric}_${name}`);
    const value = identifier(metric);
    return sql`min(${value})::text AS ${named('min')}, max(${value})::text AS ${named('max')},
      sum(${value})::text AS ${named('sum')}, count(${value})::float8 AS ${named('count')},
      (count(*) FILTER (WHERE ${value} <> 0))::float8 AS ${named('count_true')},
      ${percentilesOf(value, percentiles)} AS ${named('percentiles')}`;
  });
  const rows: Sql<SpreadRow> = sql`SELECT ${join([names, ...columns])} FROM (
    SELECT ${selectList({ ...keys, ...values })} ${fromUsage(reading)}
    LEFT JOIN (SELECT w.*, w.details::numeric[] AS detail_prices FROM unnest(${prices.map((row) => row.llm_id)}::text[], ${prices.map((row) => row.segment)}::int[],
      ${prices.map((row) => row.tier)}::int[], ${ofKind(0)}::numeric[], ${ofKind(1)}::numeric[], ${ofKind(2)}::numeric[],
      ${ofKind(3)}::numeric[], ${prices.map((row) => row.hasOneUnit)}::boolean[], ${prices.map((row) => row.details)}::text[])
      AS w (llm_id, segment, tier, prompt, completion, cache_read, cache_creation, has_one_unit, details)) p
      ON p.llm_id = u.llm_id AND p.segment = ${segment} AND p.tier = ${tier}) t
    GROUP BY ${names}`;
  return { rows, order: sql`bucket` };
}

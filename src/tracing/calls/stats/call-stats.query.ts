import { allOf, identifier, join, Parameter, sql, type Sql } from '../../../platform/query/sql.js';
import { lookedUp, unseen } from '../../../platform/query/plans.js';
import { IS_TIMED, LATENCY_MS, visibleIn } from '../../visible-calls.js';
import { STATUS } from '../read/calls.query.js';
import { endUser } from '../read/end-user.js';
import { ALL_WIRE } from '../../../platform/http/wire-names.js';
import { kindCost } from '../../pricing/prices.query.js';
import { countedUsage } from '../usage/counted-usage.query.js';
import { detailSums } from '../usage/token-details.query.js';
import { CALL_TOTALS, LATENCY_US, USAGE_TOTALS } from './call-slots.query.js';
import type { UsageMetric } from './call-stats.dto.js';
import type { SortedLatencies } from './latencies.js';

/** A span of time. `since` is included, `until` is not. */
export interface TimeSpan {
  since: string;
  until: string;
}

export interface StatsReading {
  projectId: string;
  starts: readonly string[];
  /** Spans in which calls are read, and spans in which stored statistics are read. Together they are the window. */
  fresh: readonly TimeSpan[];
  stored: readonly TimeSpan[];
  /** Condition on a call `c`. Always true if stored statistics are read. */
  condition: Sql;
  /** Condition on the sources of calls below roots. */
  sources: Sql | null;
  groups: readonly string[];
  /** True if the usage includes everything below the calls, which are roots. */
  isOfTraces: boolean;
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

export const markedSlots = (projectId: string, { since, until }: TimeSpan, limit: number) => sql<{
  ms: number;
}>`
  SELECT (extract(epoch FROM m.slot) * 1000)::float8 AS ms FROM call_slot_marks m
  WHERE m.project_id = ${projectId} AND m.slot >= ${since}::timestamptz AND m.slot < ${until}::timestamptz
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

class StatementParts {
  private readonly starts: Parameter;
  private readonly changes: Parameter;

  constructor(private readonly reading: StatsReading) {
    this.starts = new Parameter(reading.starts);
    this.changes = new Parameter(reading.changes);
  }

  bucketAt = (time: Sql) => sql`width_bucket(${time}, ${this.starts}::timestamptz[])`;

  segmentAt = (time: Sql) => sql`width_bucket(${time}, ${this.changes}::timestamptz[])`;

  get groups(): Sql {
    const { groups, projectId } = this.reading;
    return moreColumns(
      groups.map((name) => sql`${GROUP_VALUES[name]!(projectId)} AS ${identifier(name)}`),
    );
  }

  get groupNames(): Sql {
    return moreColumns(this.reading.groups.map(identifier));
  }

  /** The calls to read. LATERAL, so that each time span is one range of the index of starts. */
  get calls(): Sql {
    const { projectId, fresh, condition } = this.reading;
    return sql`FROM ${spans(fresh)} CROSS JOIN LATERAL (
      SELECT c.* FROM calls c WHERE ${visibleIn(projectId)}
        AND c.started_at >= r.since AND c.started_at < r.until AND ${condition}) c`;
  }

  storedIn(table: Sql): Sql {
    const { projectId, stored } = this.reading;
    return sql`FROM ${spans(stored)} CROSS JOIN LATERAL (
      SELECT s.* FROM ${table} s WHERE s.project_id = ${projectId} AND s.slot >= r.since AND s.slot < r.until) s`;
  }

  /** The usage of models by the calls: rows `u`. */
  get usage(): Sql {
    const { projectId, isOfTraces, groups } = this.reading;
    const columns = isOfTraces
      ? sql`c.root_started_at AS started_at${moreColumns(groups.map((name) => sql`c.${rootName(name)} AS ${identifier(name)}`))}`
      : sql`c.started_at${this.groups}`;
    const calls = isOfTraces ? this.belowRoots : sql`SELECT c.* ${this.calls}`;
    return sql`FROM (${countedUsage(projectId, calls, columns)}) u`;
  }

  /** Calls with usage among roots and all calls below them, each with the start and the groups of its root. */
  private get belowRoots(): Sql {
    const { projectId, groups, sources } = this.reading;
    const values = moreColumns(
      groups.map((name) => sql`${GROUP_VALUES[name]!(projectId)} AS ${rootName(name)}`),
    );
    const names = moreColumns(groups.map((name) => sql`t.${rootName(name)}`));
    return sql`
      WITH RECURSIVE tree AS (
        SELECT c.id AS root_id, c.id, c.trace_id, c.started_at AS root_started_at${values} ${this.calls}
        UNION ALL
        SELECT t.root_id, c.id, t.trace_id, t.root_started_at${names} FROM tree t ${lookedUp(
          sql`SELECT c.id FROM calls c
            WHERE ${visibleIn(projectId)} AND c.parent_id = t.id AND c.id <> t.root_id AND ${unseen(sql`c.trace_id = t.trace_id`)}`,
          'c',
        )}
      )
      SELECT c.*, t.root_started_at${names} FROM tree t ${lookedUp(
        sql`SELECT c.* FROM calls c WHERE ${allOf(visibleIn(projectId), sql`c.id = t.id AND c.usage IS NOT NULL`, sources)}`,
        'c',
      )}`;
  }

  /** Combines statistics of calls with stored statistics, if both kinds of spans are in the window. */
  both<Row>(ofCalls: Sql<Row>, ofSlots: Sql<Row>): Sql<Row> {
    const { fresh, stored } = this.reading;
    if (stored.length === 0) return ofCalls;
    return fresh.length === 0 ? ofSlots : sql`${ofCalls} UNION ALL ${ofSlots}`;
  }
}

/** Returns the column for a group of a root. It stands beside the columns of the calls below the root. */
const rootName = (group: string) => identifier(`root_${group}`);

const moreColumns = (columns: readonly Sql[]) =>
  join(
    columns.map((name) => sql`, ${name}`),
    '',
  );

const spans = (list: readonly TimeSpan[]) =>
  sql`unnest(${list.map(({ since }) => since)}::timestamptz[], ${list.map(({ until }) => until)}::timestamptz[]) AS r (since, until)`;

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

/** Returns the statistics of calls for each bucket. Pass `percents` only if no stored statistics are read. */
export function callRows(
  reading: StatsReading,
  percents: readonly number[] = [],
): OrderedRows<CallBucket> {
  const parts = new StatementParts(reading);
  const percentiles =
    percents.length > 0
      ? sql`, to_json(percentile_cont(${percents.map((percent) => percent / 100)}::float8[]) WITHIN GROUP (ORDER BY ${LATENCY_MS}))::text AS percentiles`
      : sql``;
  const ofCalls = sql`SELECT ${parts.bucketAt(sql`c.started_at`)} AS bucket${parts.groups}, ${CALL_TOTALS}${percentiles}
    ${parts.calls} GROUP BY bucket${parts.groupNames}`;
  const ofSlots = sql`SELECT ${parts.bucketAt(sql`s.slot`)} AS bucket, sum(s.call_count), sum(s.ended_count),
    sum(s.error_count), sum(s.instant_count), sum(s.latency_sum), min(s.latency_min), max(s.latency_max)
    ${parts.storedIn(sql`call_slots`)} GROUP BY bucket`;
  const rows: Sql<CallBucket> = sql`SELECT bucket - 1 AS bucket${parts.groupNames}, sum(call_count)::float8 AS call_count,
    sum(ended_count)::float8 AS ended_count, sum(error_count)::float8 AS error_count, sum(instant_count)::float8 AS instant_count, sum(latency_sum)::text AS latency_sum,
    min(latency_min)::text AS latency_min, max(latency_max)::text AS latency_max
    ${percents.length > 0 ? sql`, min(percentiles)::json AS percentiles` : sql``}
    FROM (${parts.both(ofCalls, ofSlots)}) t GROUP BY bucket${parts.groupNames}`;
  return { rows, order: sql`bucket${parts.groupNames}` };
}

interface BucketLatencies {
  bucket: number;
  latencies: SortedLatencies;
}

/**
 * Selects latencies of the calls that started within a time span, as sorted lists of eight bytes each, with their
 * buckets.
 */
export function latencyLists(
  reading: StatsReading,
  { since, until }: TimeSpan,
): Sql<BucketLatencies> {
  const parts = new StatementParts(reading);
  const ofCalls: Sql<BucketLatencies> = sql`SELECT ${parts.bucketAt(sql`c.started_at`)} - 1 AS bucket,
    string_agg(int8send(${LATENCY_US}), ''::bytea ORDER BY ${LATENCY_US}) AS latencies ${parts.calls}
    WHERE ${IS_TIMED} AND c.started_at >= ${since}::timestamptz AND c.started_at < ${until}::timestamptz
    GROUP BY bucket`;
  const ofSlots: Sql<BucketLatencies> = sql`SELECT ${parts.bucketAt(sql`s.slot`)} - 1 AS bucket, s.latencies ${parts.storedIn(sql`call_slots`)}
    WHERE s.latencies IS NOT NULL AND s.slot >= ${since}::timestamptz AND s.slot < ${until}::timestamptz`;
  return parts.both(ofCalls, ofSlots);
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

const KEY = sql`bucket, llm_id, segment, tier, unknown_kinds`;

export function usageRows(reading: StatsReading): OrderedRows<UsageRow> {
  const parts = new StatementParts(reading);
  const tiers = new Parameter(reading.tiers);
  const ofCalls = sql`SELECT ${parts.bucketAt(sql`u.started_at`)} AS bucket, u.llm_id,
    ${parts.segmentAt(sql`u.started_at`)} AS segment, width_bucket(u.input_tokens, ${tiers}::bigint[]) AS tier,
    u.unknown_kinds${parts.groupNames}, ${USAGE_TOTALS}, min(u.started_at) AS first, max(u.started_at) AS last
    ${parts.usage} GROUP BY ${KEY}${parts.groupNames}`;
  const ofSlots = sql`SELECT ${parts.bucketAt(sql`s.slot`)} AS bucket, s.llm_id, ${parts.segmentAt(sql`s.slot`)} AS segment,
    s.tier, s.unknown_kinds, sum(s.call_count), sum(s.prompt_tokens), sum(s.completion_tokens),
    sum(s.cache_read_input_tokens), sum(s.cache_creation_input_tokens), min(s.min_input), max(s.max_input),
    ${detailSums(sql`s.details`)}, min(s.slot), max(s.slot) + interval '4 minutes 59.999999 seconds' ${parts.storedIn(sql`call_slot_models`)} GROUP BY ${KEY}`;
  const rows: Sql<UsageRow> = sql`SELECT bucket - 1 AS bucket, llm_id, segment, tier, unknown_kinds${parts.groupNames},
    sum(call_count)::float8 AS call_count, sum(prompt_tokens)::text AS prompt_tokens,
    sum(completion_tokens)::text AS completion_tokens, sum(cache_read_input_tokens)::text AS cache_read_input_tokens,
    sum(cache_creation_input_tokens)::text AS cache_creation_input_tokens, min(min_input)::float8 AS min_input,
    max(max_input)::float8 AS max_input, (${detailSums(sql`t.details`)})::text[] AS details, (extract(epoch FROM min(first)) * 1000)::float8 AS first,
    (extract(epoch FROM max(last)) * 1000)::float8 AS last
    FROM (${parts.both(ofCalls, ofSlots)}) t GROUP BY ${KEY}${parts.groupNames}`;
  const order = sql`bucket, llm_id COLLATE "C"${parts.groupNames}, segment, tier, unknown_kinds`;
  return { rows, order };
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
  metrics: readonly { metric: UsageMetric; percentiles: readonly number[] }[],
  prices: readonly PriceRow[],
): OrderedRows<SpreadRow> {
  const parts = new StatementParts(reading);
  const ofKind = (kind: number) => prices.map((row) => row.prices[kind]);
  const columns = metrics.map(({ metric, percentiles }) => {
    const named = (name: string) => identifier(`${metric}_${name}`);
    const value = identifier(metric);
    const percents = percentiles.map((percent) => percent / 100);
    return sql`min(${value})::text AS ${named('min')}, max(${value})::text AS ${named('max')},
      sum(${value})::text AS ${named('sum')}, count(${value})::float8 AS ${named('count')},
      (count(*) FILTER (WHERE ${value} <> 0))::float8 AS ${named('count_true')},
      percentile_cont(${percents}::float8[]) WITHIN GROUP (ORDER BY ${value}::float8) AS ${named('percentiles')}`;
  });
  const rows: Sql<SpreadRow> = sql`SELECT bucket - 1 AS bucket, llm_id${parts.groupNames}, ${join(columns)} FROM (
    SELECT ${parts.bucketAt(sql`u.started_at`)} AS bucket, u.llm_id${parts.groupNames},
      ${join(metrics.map(({ metric }) => sql`${VALUES[metric]} AS ${identifier(metric)}`))}
    ${parts.usage}
    LEFT JOIN (SELECT w.*, w.details::numeric[] AS detail_prices FROM unnest(${prices.map((row) => row.llm_id)}::text[], ${prices.map((row) => row.segment)}::int[],
      ${prices.map((row) => row.tier)}::int[], ${ofKind(0)}::numeric[], ${ofKind(1)}::numeric[], ${ofKind(2)}::numeric[],
      ${ofKind(3)}::numeric[], ${prices.map((row) => row.hasOneUnit)}::boolean[], ${prices.map((row) => row.details)}::text[])
      AS w (llm_id, segment, tier, prompt, completion, cache_read, cache_creation, has_one_unit, details)) p
      ON p.llm_id = u.llm_id AND p.segment = ${parts.segmentAt(sql`u.started_at`)}
      AND p.tier = width_bucket(u.input_tokens, ${reading.tiers}::bigint[])) t
    GROUP BY bucket, llm_id${parts.groupNames}`;
  return { rows, order: sql`bucket` };
}

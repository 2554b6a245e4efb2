// SQL: statistics of spans over time.
import { InvalidQuery } from '../../../platform/query/columns.js';
import { join, sql, type Sql } from '../../../platform/query/sql.js';
import {
  type AnyAggregation,
  jsonArray,
  readStatistics,
  statisticNames,
  statisticsOf,
  type ValueStatistics,
} from '../../../tracing/statistics/statistics.query.js';
import { isWithin, type TimeBuckets } from '../../../tracing/statistics/time-buckets.js';
import type { StatsColumnDto } from './agents.answers.dto.js';
import type { GroupRefDto, SpanMetricDto, SpanStatsDto, SpanValueType } from './agents.dto.js';
import { SPAN_FIELDS } from './span-fields.js';
import { aliasOf, GroupedSpans } from './span-groups.query.js';

export interface SpanStatsRow {
  bucket: number;
  keys: (string | null)[];
  values: (number | string | null)[];
}

const NUMBER_FIELDS = new Set([
  ...Object.entries(SPAN_FIELDS).flatMap(([name, { type }]) =>
    type === 'int' || type === 'float' ? [name] : [],
  ),
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
]);

const typeOfKey = ({ source, key }: GroupRefDto): SpanValueType =>
  source === 'custom_attrs_bool'
    ? 'boolean'
    : source === 'custom_attrs_int' || source === 'custom_attrs_float' || NUMBER_FIELDS.has(key)
      ? 'number'
      : 'string';

/** Converts a group key to its type in the answer. */
export function keyValue(ref: GroupRefDto, text: string | null): string | number | boolean | null {
  const type = typeOfKey(ref);
  if (text === null || type === 'string') return text;
  return type === 'boolean' ? text === 'true' : Number(text);
}

/** Reads the statistics of a metric. Clients send percentiles as 95 or as 0.95. */
function spanStatistics(metric: SpanMetricDto): ValueStatistics<AnyAggregation> {
  const usual = metric.value_type === 'number' ? (['sum', 'avg'] as const) : (['count'] as const);
  const statistics = readStatistics<AnyAggregation>(metric, usual);
  const fractions = [...new Set(metric.percentiles)];
  if (fractions.some((one) => one > 1)) return statistics;
  const percentiles = fractions.map((fraction) => ({
    name: `p${Number((fraction * 100).toFixed(6))}`,
    fraction,
  }));
  return { ...statistics, percentiles };
}

const NO_METRIC = { metric: null, aggregation: null };

export function statColumns({ group_by, metrics }: SpanStatsDto): StatsColumnDto[] {
  const groups = (group_by ?? []).map((ref) => ({
    name: aliasOf(ref),
    role: 'group',
    value_type: typeOfKey(ref),
    ...NO_METRIC,
  }));
  const values = (metrics ?? []).flatMap((metric) =>
    statisticNames(spanStatistics(metric)).map((aggregation) => ({
      name: `${metric.alias}_${aggregation}`,
      role: 'metric',
      metric: metric.alias,
      aggregation,
      value_type:
        metric.value_type === 'datetime' && /^(min|max)$/.test(aggregation)
          ? ('datetime' as const)
          : ('number' as const),
    })),
  );
  return [
    { name: 'timestamp', role: 'time', value_type: 'datetime', ...NO_METRIC },
    ...groups,
    ...values,
  ];
}

/** Reads the buckets of the groups with the most spans. */
export function statsQuery(
  asked: SpanStatsDto,
  buckets: TimeBuckets,
  more: Sql | null,
): Sql<SpanStatsRow> {
  const spans = new GroupedSpans(asked);
  const { source, values, keys } = spans;
  const statistics = (asked.metrics ?? []).flatMap((metric, i) => {
    const path = `metrics[${i}]`;
    const read = statisticsOf(spanStatistics(metric), spans.field(metric, path));
    if (metric.percentiles?.length && metric.value_type !== 'number')
      throw new InvalidQuery(
        `${path}.percentiles`,
        'are only for metrics of the value_type number',
      );
    return read;
  });
  const { having } = spans;
  const where = source.matching(asked, isWithin(sql`c.started_at`, buckets), more);
  const byKey = keys.map((key) => sql`${key} COLLATE "C"`);
  const largest =
    keys.length === 0
      ? sql`SELECT 1 AS one FROM s ${having} ORDER BY 1`
      : sql`SELECT ${join(keys)} FROM s GROUP BY ${join(keys)} ${having} ORDER BY ${join([sql`count(*) DESC`, ...byKey])}`;
  const keyed = (row: Sql) =>
    sql`json_build_array(${join(keys.map((key) => sql`${row}.${key}`))})::text`;
  // looked up in one jsonb value: a join may compare each span with each group
  const isLargest =
    keys.length === 0
      ? sql`EXISTS (SELECT FROM largest)`
      : sql`(SELECT jsonb_object_agg(${keyed(sql`l`)}, 1) FROM largest l) ? ${keyed(sql`s`)}`;
  return sql`
    WITH s AS MATERIALIZED (
        SELECT ${join([sql`c.started_at`, ...values.selected])} FROM ${source.from} WHERE ${where}),
      largest AS MATERIALIZED (${largest} LIMIT ${asked.group_limit ?? 50}::bigint)
    SELECT ${buckets.at(sql`s.started_at`)} AS bucket, ${jsonArray(keys)} AS keys, ${jsonArray(statistics)} AS values
    FROM s WHERE ${isLargest} GROUP BY ${join([sql`1`, ...keys])} ORDER BY ${join([sql`1`, ...byKey])}`;
}

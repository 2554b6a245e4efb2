// SQL: statistics of spans over time.
import { InvalidQuery } from '../../../platform/query/columns.js';
import { allOf, identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import type { SpanStatsDto, SpanValueType } from './agents.dto.js';
import { SPAN_FIELDS } from './span-fields.js';
import {
  aliasOf,
  groupCondition,
  type GroupRef,
  measureValue,
  keyText,
  operandNumber,
  GroupValues,
} from './span-groups.query.js';
import { SpanSource } from './span-source.js';

export interface StatsColumn {
  name: string;
  role: 'time' | 'group' | 'metric';
  metric: string | null;
  aggregation: string | null;
  value_type: SpanValueType;
}

export interface SpanStatsRow {
  bucket: number;
  keys: (string | null)[];
  values: (number | string | null)[];
}

type SpanMetric = NonNullable<SpanStatsDto['metrics']>[number];

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

const typeOfKey = ({ source, key }: GroupRef): SpanValueType =>
  source === 'custom_attrs_bool'
    ? 'boolean'
    : source === 'custom_attrs_int' || source === 'custom_attrs_float' || NUMBER_FIELDS.has(key)
      ? 'number'
      : 'string';

/** Converts a group key to its type in the answer. */
export function keyValue(ref: GroupRef, text: string | null): string | number | boolean | null {
  const type = typeOfKey(ref);
  if (text === null || type === 'string') return text;
  return type === 'boolean' ? text === 'true' : Number(text);
}

const aggregationsOf = ({ aggregations, percentiles, value_type }: SpanMetric) =>
  aggregations?.length || percentiles?.length
    ? [...new Set(aggregations)]
    : value_type === 'number'
      ? (['sum', 'avg'] as const)
      : (['count'] as const);

/** Returns percentiles as fractions. Clients send 95 as well as 0.95. */
const fractions = ({ percentiles }: SpanMetric): [name: string, fraction: number][] => {
  const all = [...new Set(percentiles)];
  const areFractions = all.every((one) => one <= 1);
  return all.map((one) => [
    `p${areFractions ? Number((one * 100).toFixed(6)) : one}`,
    areFractions ? one : one / 100,
  ]);
};

export function statColumns({ group_by, metrics }: SpanStatsDto): StatsColumn[] {
  const column = (
    name: string,
    role: StatsColumn['role'],
    value_type: SpanValueType,
  ): StatsColumn => ({
    name,
    role,
    value_type,
    metric: null,
    aggregation: null,
  });
  return [
    column('timestamp', 'time', 'datetime'),
    ...(group_by ?? []).map((ref) => column(aliasOf(ref), 'group', typeOfKey(ref))),
    ...(metrics ?? []).flatMap((metric) =>
      [...aggregationsOf(metric), ...fractions(metric).map(([name]) => name)].map(
        (aggregation): StatsColumn => ({
          name: `${metric.alias}_${aggregation}`,
          role: 'metric',
          metric: metric.alias,
          aggregation,
          value_type:
            metric.value_type === 'datetime' && /^(min|max)$/.test(aggregation)
              ? 'datetime'
              : 'number',
        }),
      ),
    ),
  ];
}

interface SpanStatsWindow {
  end: string;
  starts: readonly string[];
}

/** Reads the buckets of the groups with the most spans. */
export function statsQuery(
  asked: SpanStatsDto,
  { end, starts }: SpanStatsWindow,
  more: Sql | null,
): Sql<SpanStatsRow> {
  const source = new SpanSource();
  const values = new GroupValues();
  const keys = (asked.group_by ?? []).map((ref, i) =>
    values.add(keyText(source.value(ref, `group_by[${i}]`))),
  );
  const stats = (asked.metrics ?? []).flatMap((metric, i) => {
    const path = `metrics[${i}]`;
    const { value, value_type, alias } = metric;
    const named = aggregationsOf(metric).map((aggregation) =>
      measureValue({ alias, aggregation, value, value_type }, source, values, path),
    );
    const percentiles = fractions(metric);
    if (percentiles.length === 0) return named;
    if (value_type !== 'number')
      throw new InvalidQuery(
        `${path}.percentiles`,
        'are only for metrics of the value_type number',
      );
    const number = values.add(operandNumber(source.value(value, `${path}.value`)));
    return [
      ...named,
      ...percentiles.map(
        ([, fraction]) =>
          sql`percentile_cont(${fraction}::float8) WITHIN GROUP (ORDER BY ${number})`,
      ),
    ];
  });
  const having = (asked.group_filters ?? []).map((one, i) =>
    groupCondition(one, source, values, `group_filters[${i}]`),
  );
  const where = source.matching(
    asked,
    sql`c.started_at >= ${asked.start}::timestamptz AND c.started_at < ${end}::timestamptz`,
    more,
  );
  // an array constructor: json_build_array takes 100 arguments at most
  const array = (items: readonly Sql[]) =>
    sql`to_json(ARRAY[${join(items.map((item) => sql`to_json(${item})`))}]::json[])`;
  const read = [sql`c.started_at`, ...values.selected];
  const keyed = (row: string) =>
    sql`json_build_array(${join(keys.map((key) => sql`${identifier(row)}.${key}`))})::text`;
  // looked up in one jsonb value: a join may compare each span with each group
  const isLargest =
    keys.length === 0
      ? sql`EXISTS (SELECT FROM largest)`
      : sql`(SELECT jsonb_object_agg(${keyed('l')}, 1) FROM largest l) ? ${keyed('s')}`;
  const limit = asked.group_limit ?? 50;
  const grouped = keys.length > 0 ? sql`, ${join(keys.map((key) => sql`s.${key}`))}` : sql``;
  return sql`
    WITH s AS MATERIALIZED (SELECT ${join(read)} FROM ${source.from} WHERE ${where}),
      largest AS MATERIALIZED (
        SELECT ${keys.length > 0 ? join(keys) : sql`1 AS one`} FROM s ${keys.length > 0 ? sql`GROUP BY ${join(keys)}` : sql``}
        ${having.length > 0 ? sql`HAVING ${allOf(...having)}` : sql``}
        ORDER BY ${keys.length > 0 ? sql`count(*) DESC, ${join(keys.map((key) => sql`${key} COLLATE "C"`))}` : sql`1`} LIMIT ${limit}::bigint)
    SELECT width_bucket(s.started_at, ${starts}::timestamptz[]) - 1 AS bucket,
      ${array(keys.map((key) => sql`s.${key}`))} AS keys, ${array(stats)} AS values
    FROM s WHERE ${isLargest}
    GROUP BY 1${grouped}
    ORDER BY 1${keys.length > 0 ? sql`, ${join(keys.map((key) => sql`s.${key} COLLATE "C"`))}` : sql``}`;
}

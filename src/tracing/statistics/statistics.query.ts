// SQL: the requested statistics of values are aggregates of rows.
import { wireTime } from '../../platform/query/columns.js';
import { identifier, join, sql, type Sql } from '../../platform/query/sql.js';
import type { Aggregation } from './statistics.dto.js';

export interface Percentile {
  /** The name in answers, such as `p95`. */
  name: string;
  fraction: number;
}

/** Requested statistics of one value. Each is listed once, in the requested order. */
export interface ValueStatistics<Name extends string = Aggregation> {
  aggregations: readonly Name[];
  percentiles: readonly Percentile[];
}

export interface RequestedStatistics<Name extends string = Aggregation> {
  aggregations?: readonly Name[] | null | undefined;
  percentiles?: readonly number[] | null | undefined;
}

/** Reads a request. `usual` are the aggregations of a request that names no statistics. */
export function readStatistics<Name extends string = Aggregation>(
  { aggregations, percentiles }: RequestedStatistics<Name>,
  usual: readonly Name[] = [],
): ValueStatistics<Name> {
  const isPlain = !aggregations?.length && !percentiles?.length;
  return {
    aggregations: isPlain ? usual : [...new Set(aggregations)],
    percentiles: Array.from(new Set(percentiles), (percent) => ({
      name: `p${percent}`,
      fraction: percent / 100,
    })),
  };
}

/** Returns the names of the statistics, in the order of their values. */
export const statisticNames = ({
  aggregations,
  percentiles,
}: ValueStatistics<string>): string[] => [...aggregations, ...percentiles.map(({ name }) => name)];

/** Expressions, keyed by the names of their columns. */
export type NamedSql = Readonly<Record<string, Sql>>;

export const selectList = (columns: NamedSql): Sql =>
  join(Object.entries(columns).map(([name, value]) => sql`${value} AS ${identifier(name)}`));

/** Values that an inner select reads from each row. A value that several aggregates use is read once. */
export class RowValues {
  private readonly names = new Map<Sql, string>();

  /** Returns the name of the value. */
  add(value: Sql): Sql {
    const name = this.names.get(value) ?? `v${this.names.size}`;
    this.names.set(value, name);
    return identifier(name);
  }

  /** The select list. Read it last. */
  get selected(): Sql[] {
    return Array.from(this.names, ([value, name]) => sql`${value} AS ${identifier(name)}`);
  }
}

/** Returns the forms of a value that aggregates may use. They are functions, so that only used forms are read. */
export interface StatisticsField {
  number: () => Sql;
  text: () => Sql;
  /** NULL in rows that `count` leaves out. */
  counted: () => Sql;
  /** Only for times, whose minimum and maximum are times too. */
  time?: (() => Sql) | undefined;
}

export type AnyAggregation = Aggregation | 'count_distinct';

const extreme =
  (aggregate: Sql) =>
  ({ number, time }: StatisticsField) =>
    time ? wireTime(sql`${aggregate}(${time()})`) : sql`${aggregate}(${number()})`;

const AGGREGATES: Record<AnyAggregation, (field: StatisticsField) => Sql> = {
  sum: ({ number }) => sql`sum(${number()})`,
  avg: ({ number }) => sql`avg(${number()})`,
  min: extreme(sql`min`),
  max: extreme(sql`max`),
  count: ({ counted }) => sql`count(${counted()})::float8`,
  count_distinct: ({ text }) => sql`count(DISTINCT ${text()})::float8`,
  count_true: ({ text }) => sql`count(*) FILTER (WHERE ${text()} = 'true')::float8`,
  count_false: ({ text }) => sql`count(*) FILTER (WHERE ${text()} = 'false')::float8`,
};

export const aggregate = (name: AnyAggregation, field: StatisticsField) => AGGREGATES[name](field);

/** Interpolates the value below which a fraction of the values lies. Percentiles of one value share one sort. */
export const percentileOf = (value: Sql, fraction: number) =>
  sql`percentile_cont(${fraction}::float8) WITHIN GROUP (ORDER BY ${value}::float8)`;

export const percentilesOf = (value: Sql, percentiles: readonly Percentile[]) =>
  sql`ARRAY[${join(percentiles.map((one) => percentileOf(value, one.fraction)))}]::float8[]`;

/** Returns the requested statistics of a value, in their order. */
export const statisticsOf = (
  { aggregations, percentiles }: ValueStatistics<AnyAggregation>,
  field: StatisticsField,
): Sql[] => [
  ...aggregations.map((name) => aggregate(name, field)),
  ...percentiles.map(({ fraction }) => percentileOf(field.number(), fraction)),
];

/** Returns an array of values of several types. `json_build_array` takes 100 arguments at most. */
export const jsonArray = (items: readonly Sql[]) =>
  sql`to_json(ARRAY[${join(items.map((item) => sql`to_json(${item})`))}]::json[])`;

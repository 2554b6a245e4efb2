// SQL: statistics over the feedback of a window.
import type { Aggregation } from '../../platform/http/stats.dto.js';
import { jsonAt, nameBudget, pathSteps, toNumber } from '../../platform/query/columns.js';
import { allOf, identifier, join, sql, type Sql } from '../../platform/query/sql.js';
import type { FeedbackMetricDto, FeedbackStatsDto, ValueType } from './feedback-stats.dto.js';
import { isOfType, isShown, ownRef, refColumn } from '../feedback-names.query.js';
import { PAYLOAD } from './feedback.query.js';
import { computedOnce } from '../../platform/query/plans.js';

/** A metric with defaults filled in. */
export interface FeedbackMetric {
  path: string;
  /** The path as it occurs in the names of members. */
  slug: string;
  valueType: ValueType;
  aggregations: Aggregation[];
  percentiles: number[];
}

const USUAL_AGGREGATIONS: Record<ValueType, Aggregation[]> = {
  numeric: ['avg', 'min', 'max'],
  boolean: ['count_true', 'count_false'],
  categorical: ['count'],
};

export function readMetric(metric: FeedbackMetricDto): FeedbackMetric {
  const valueType = metric.value_type ?? 'numeric';
  const aggregations = [...new Set(metric.aggregations)];
  const percentiles = [...new Set(metric.percentiles)];
  const isPlain = aggregations.length === 0 && percentiles.length === 0;
  return {
    path: metric.json_path,
    slug: metric.json_path.replaceAll(/[^A-Za-z0-9]+/g, '_'),
    valueType,
    aggregations: isPlain ? USUAL_AGGREGATIONS[valueType] : aggregations,
    percentiles: valueType === 'numeric' ? percentiles : [],
  };
}

/**
 * Values of a bucket, or of the whole window when `bucket` is null. Each metric has its aggregations, then its
 * percentiles.
 */
export interface FeedbackStatsRow {
  bucket: number | null;
  count: number;
  [metric: `m${number}`]: (number | null)[];
}

interface FeedbackStatsWindow {
  end: string;
  starts: readonly string[];
}

export function statsQuery(
  asked: FeedbackStatsDto,
  { end, starts }: FeedbackStatsWindow,
  metrics: readonly FeedbackMetric[],
): Sql<FeedbackStatsRow> {
  const { project_id, start, feedback_type, trigger_ref } = asked;
  const names = nameBudget();
  const texts = metrics.map(({ path }, i) => {
    const steps = pathSteps(path, `metrics[${i}].json_path`, names);
    return sql`${jsonAt(PAYLOAD, steps).sql} AS ${identifier(`t${i}`)}`;
  });
  const numbers = metrics.map(
    (_, i) => sql`${roundedNumber(identifier(`t${i}`))} AS ${identifier(`n${i}`)}`,
  );
  const values = metrics.map(
    (metric, i) => sql`${statColumns(metric, i)} AS ${identifier(`m${i}`)}`,
  );
  const found = sql`
    SELECT width_bucket(f.created_at, ${starts}::timestamptz[]) - 1 AS bucket${moreColumns(texts)}
    FROM feedback f WHERE ${allOf(
      sql`f.project_id = ${project_id}`,
      sql`f.created_at >= ${start}::timestamptz AND f.created_at < ${end}::timestamptz`,
      typeof feedback_type === 'string' && isOfType(feedback_type),
      typeof trigger_ref === 'string' && isTrigger(trigger_ref),
      isShown(project_id),
    )}`;
  return sql`
    SELECT bucket, count(*)::int AS count${moreColumns(values)}
    FROM ${computedOnce(sql`SELECT *${moreColumns(numbers)} FROM ${computedOnce(found, 't')}`, 'v')}
    GROUP BY GROUPING SETS ((bucket), ()) ORDER BY bucket`;
}

const moreColumns = (items: readonly Sql[]) => (items.length > 0 ? sql`, ${join(items)}` : sql``);

const isTrigger = (ref: string) =>
  ref.endsWith(':*')
    ? sql`starts_with(${trigger().sql}, ${ownRef(ref).slice(0, -1)})`
    : trigger().cases!.get(ref)!;
const trigger = () => refColumn(sql`f.trigger_ref`);

/** Returns a number that fits into float8, even in a sum, or NULL. */
const roundedNumber = (text: Sql) =>
  sql`(SELECT CASE WHEN abs(x.n) < 1e290 THEN round(x.n, 60) END FROM ${computedOnce(sql`SELECT ${toNumber(text)} AS n`, 'x')})`;

function statColumns({ valueType, aggregations, percentiles }: FeedbackMetric, i: number): Sql {
  const text = identifier(`t${i}`);
  const n = identifier(`n${i}`);
  const counted: Record<ValueType, Sql> = {
    numeric: n,
    boolean: sql`CASE WHEN ${text} IN ('true', 'false') THEN 1 END`,
    categorical: text,
  };
  const value: Record<Aggregation, Sql> = {
    sum: sql`sum(${n})`,
    avg: sql`avg(${n})`,
    min: sql`min(${n})`,
    max: sql`max(${n})`,
    count: sql`count(${counted[valueType]})`,
    count_true: sql`count(*) FILTER (WHERE ${text} = 'true')`,
    count_false: sql`count(*) FILTER (WHERE ${text} = 'false')`,
  };
  const all = aggregations.map((name) => sql`(${value[name]})::float8`);
  for (const percent of percentiles)
    all.push(sql`percentile_cont(${percent / 100}::float8) WITHIN GROUP (ORDER BY ${n}::float8)`);
  return sql`ARRAY[${join(all)}]::float8[]`;
}

// SQL: statistics over the feedback of a window.
import { jsonAt, nameBudget, pathSteps, toNumber } from '../../platform/query/columns.js';
import { computedOnce } from '../../platform/query/plans.js';
import { allOf, join, sql, type Sql } from '../../platform/query/sql.js';
import { isOfType, isShown, ownRef, refColumn } from '../feedback-names.query.js';
import {
  readStatistics,
  RowValues,
  type StatisticsField,
  statisticsOf,
  type ValueStatistics,
} from '../statistics/statistics.query.js';
import type { Aggregation } from '../statistics/statistics.dto.js';
import { isWithin, type TimeBuckets } from '../statistics/time-buckets.js';
import type { FeedbackMetricDto, FeedbackStatsDto, ValueType } from './feedback-stats.dto.js';
import { PAYLOAD } from './feedback.query.js';

/** A metric with defaults filled in. */
export interface FeedbackMetric extends ValueStatistics {
  path: string;
  /** The path as it occurs in the names of members. */
  slug: string;
  valueType: ValueType;
}

const USUAL_AGGREGATIONS: Record<ValueType, Aggregation[]> = {
  numeric: ['avg', 'min', 'max'],
  boolean: ['count_true', 'count_false'],
  categorical: ['count'],
};

export function readMetric(metric: FeedbackMetricDto): FeedbackMetric {
  const valueType = metric.value_type ?? 'numeric';
  const { aggregations, percentiles } = readStatistics(metric, USUAL_AGGREGATIONS[valueType]);
  return {
    path: metric.json_path,
    slug: metric.json_path.replaceAll(/[^A-Za-z0-9]+/g, '_'),
    valueType,
    aggregations,
    percentiles: valueType === 'numeric' ? percentiles : [],
  };
}

/** Statistics of a bucket, or of the whole window when `bucket` is null: those of each metric in turn. */
export interface FeedbackStatsRow {
  bucket: number | null;
  count: number;
  values: (number | null)[];
}

export function statsQuery(
  { project_id, feedback_type, trigger_ref }: FeedbackStatsDto,
  buckets: TimeBuckets,
  metrics: readonly FeedbackMetric[],
): Sql<FeedbackStatsRow> {
  const names = nameBudget();
  const values = new RowValues();
  const statistics = metrics.flatMap((metric, i) => {
    const steps = pathSteps(metric.path, `metrics[${i}].json_path`, names);
    return statisticsOf(metric, payloadField(jsonAt(PAYLOAD, steps).sql, metric, values));
  });
  const read = [sql`${buckets.at(sql`f.created_at`)} AS bucket`, ...values.selected];
  const rows = sql`SELECT ${join(read)} FROM feedback f WHERE ${allOf(
    sql`f.project_id = ${project_id}`,
    isWithin(sql`f.created_at`, buckets),
    typeof feedback_type === 'string' && isOfType(feedback_type),
    typeof trigger_ref === 'string' && isTrigger(trigger_ref),
    isShown(project_id),
  )}`;
  return sql`
    SELECT bucket, count(*)::int AS count, ARRAY[${join(statistics)}]::float8[] AS values
    FROM ${computedOnce(rows, 's')} GROUP BY GROUPING SETS ((bucket), ()) ORDER BY bucket`;
}

const isTrigger = (ref: string) =>
  ref.endsWith(':*')
    ? sql`starts_with(${trigger().sql}, ${ownRef(ref).slice(0, -1)})`
    : trigger().cases!.get(ref)!;
const trigger = () => refColumn(sql`f.trigger_ref`);

/** Returns a number that fits into float8, even in a sum, or NULL. */
const roundedNumber = (text: Sql) =>
  sql`(SELECT CASE WHEN abs(x.n) < 1e290 THEN round(x.n, 60) END FROM ${computedOnce(sql`SELECT ${toNumber(text)} AS n`, 'x')})`;

function payloadField(
  value: Sql,
  { valueType }: FeedbackMetric,
  values: RowValues,
): StatisticsField {
  const parsed = roundedNumber(value);
  const number = () => values.add(parsed);
  const text = () => values.add(value);
  const boolean = () => sql`CASE WHEN ${text()} IN ('true', 'false') THEN 1 END`;
  return { number, text, counted: { numeric: number, boolean, categorical: text }[valueType] };
}

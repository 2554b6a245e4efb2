// SQL: sums over the feedback of a window.
import { type RefKind, spellRefs } from '../../platform/http/refs.js';
import { allOf, anyOf, identifier, join, sql, type Sql } from '../../platform/query/sql.js';
import {
  isOfType,
  isShown,
  ownRef,
  ownType,
  refColumn,
  scorerValue,
  typeIn,
} from '../feedback-names.query.js';
import type {
  Dimension,
  FeedbackAggregateDto,
  PayloadSchemaDto,
} from './feedback-aggregate.dto.js';

const dimensionValues = (): Record<Dimension, Sql> => ({
  scorer_id: refColumn(sql`f.runnable_ref`).sql,
  span_agent_name: scorerValue('span_agent_name'),
  span_agent_version: scorerValue('span_agent_version'),
  span_status_code: scorerValue('span_status_code'),
});

const isOneOfRefs = (column: Sql, refs: readonly string[] | null | undefined) => {
  if (!refs?.length) return null;
  const ref = refColumn(column);
  return anyOf(
    refs.map((one) =>
      one.endsWith('*')
        ? sql`starts_with(${ref.sql}, ${ownRef(one.slice(0, -1))})`
        : ref.cases!.get(one)!,
    ),
  );
};

const isOfKind = (project: string, kinds: RefKind[]) =>
  anyOf(spellRefs(project, kinds, ['']).map((prefix) => sql`starts_with(f.ref, ${prefix})`));

const hasRating = (min: number | null | undefined, max: number | null | undefined) =>
  sql`EXISTS (SELECT FROM json_each_text(f.scorer_ratings) r WHERE ${allOf(
    typeof min === 'number' && sql`r.value::float8 >= ${min}::float8`,
    typeof max === 'number' && sql`r.value::float8 <= ${max}::float8`,
  )})`;

function isWanted(asked: FeedbackAggregateDto): Sql {
  const { project_id, after_ms, before_ms, feedback_types, tags, rating_min, rating_max } = asked;
  const { span_agent_names, span_types } = asked;
  return allOf(
    sql`f.project_id = ${project_id}`,
    sql`f.created_at >= to_timestamp(${after_ms}::float8 / 1000) AND f.created_at < to_timestamp(${before_ms}::float8 / 1000)`,
    Boolean(feedback_types?.length) &&
      anyOf(
        feedback_types!.map(
          (type) => sql`starts_with(${typeIn(sql`f.feedback_type`)}, ${ownType(type)})`,
        ),
      ),
    isOneOfRefs(sql`f.trigger_ref`, asked.monitor_ids),
    isOneOfRefs(sql`f.runnable_ref`, asked.scorer_ids),
    Boolean(tags?.length) &&
      sql`EXISTS (SELECT FROM json_array_elements_text(f.scorer_tags) t (tag) WHERE t.tag = ANY(${tags!}::text[]))`,
    (typeof rating_min === 'number' || typeof rating_max === 'number') &&
      hasRating(rating_min, rating_max),
    Boolean(span_agent_names?.length) &&
      sql`${scorerValue('span_agent_name')} = ANY(${span_agent_names!}::text[])`,
    Boolean(span_types?.length) && isOfKind(project_id, span_types!),
    isShown(project_id),
  );
}

/** One sum: of a bucket and group (`total`), of one of its tags, or of one of its ratings. */
export interface AggregateRow {
  bucket: number | null;
  keys: string[];
  kind: 'total' | 'tag' | 'rating';
  name: string | null;
  count: number;
  scored: number;
  sum: number;
}

export function aggregateQuery(asked: FeedbackAggregateDto): Sql<AggregateRow> {
  const { time_bucket_seconds: seconds, group_by } = asked;
  const names = (group_by ?? []).map((name, i) => ({ name, column: identifier(`k${i}`) }));
  const keys = names.map(
    ({ name, column }) => sql`coalesce(${dimensionValues()[name]}, '') AS ${column}`,
  );
  const bucket = seconds
    ? sql`floor(extract(epoch FROM f.created_at) / ${seconds}::int)::float8 * ${seconds}::int * 1000`
    : sql`NULL::float8`;
  const columns = names.map(({ column }) => sql`w.${column}`);
  const groups = join([sql`w.bucket`, ...columns]);
  const shown = columns.length > 0 ? sql`json_build_array(${join(columns)})` : sql`'[]'::json`;
  return sql`
    WITH w AS MATERIALIZED (
      SELECT ${join([sql`${bucket} AS bucket`, sql`f.scorer_tags`, sql`f.scorer_ratings`, ...keys])} FROM feedback f WHERE ${isWanted(asked)}
    )
    SELECT a.* FROM (
      SELECT w.bucket, ${shown} AS keys, 'total' AS kind, NULL AS name, count(*)::int AS count,
        count(*) FILTER (WHERE json_array_length(w.scorer_tags) > 0 OR w.scorer_ratings::text <> '{}')::int AS scored, 0::float8 AS sum
      FROM w GROUP BY ${groups}
      UNION ALL
      SELECT w.bucket, ${shown}, 'tag', t.tag, count(*)::int, 0, 0 FROM w CROSS JOIN LATERAL json_array_elements_text(w.scorer_tags) t (tag)
      GROUP BY ${groups}, t.tag
      UNION ALL
      SELECT w.bucket, ${shown}, 'rating', r.key, count(*)::int, 0, sum(r.value::float8) FROM w CROSS JOIN LATERAL json_each_text(w.scorer_ratings) r
      GROUP BY ${groups}, r.key) a
    ORDER BY a.bucket, a.keys::text COLLATE "C", a.kind, a.name COLLATE "C"`;
}

/** Bytes of a payload that is sampled. Larger ones are not representative. */
const MAX_PAYLOAD = 64 * 1024;

/** Reads the newest payload of each combination of type and trigger in a window. */
export function sampledPayloads(asked: PayloadSchemaDto, limit: number): Sql<{ payload: unknown }> {
  const { project_id, start, end, feedback_type, trigger_ref } = asked;
  return sql`
    SELECT s.payload FROM (
      SELECT DISTINCT ON (f.feedback_type, f.trigger_ref) f.payload, f.created_at, f.id FROM feedback f WHERE ${allOf(
        sql`f.project_id = ${project_id} AND f.created_at >= ${start}::timestamptz`,
        end && sql`f.created_at < ${end}::timestamptz`,
        feedback_type && isOfType(feedback_type),
        trigger_ref && isOneOfRefs(sql`f.trigger_ref`, [trigger_ref]),
        sql`octet_length(f.payload::text) <= ${MAX_PAYLOAD}::int`,
        isShown(project_id),
      )} ORDER BY f.feedback_type, f.trigger_ref, f.created_at DESC, f.id DESC) s
    ORDER BY s.created_at DESC, s.id LIMIT ${limit}::bigint`;
}

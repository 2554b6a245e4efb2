// SQL: rows of evaluations are read from documents where they lie, without taking out what is not asked for.
import { jsonAt, jsonValueAt, wireTime } from '../../platform/query/columns.js';
import { lookedUp } from '../../platform/query/plans.js';
import { isListed, sql, type Sql } from '../../platform/query/sql.js';
import { LATENCY_MS, visibleIn } from '../visible-calls.js';
import {
  children,
  document,
  isLate,
  isPredict,
  isScorer,
  isTrial,
  opName,
  output,
  OWN_LATENCY,
  scoreName,
  spendingJson,
} from './trial-parts.query.js';

export interface EvaluationRoot {
  id: string;
  op_name: string;
  display_name: string | null;
  trace_id: string;
  started_at: string;
  ended_at: string | null;
  exception: string | null;
  evaluation_ref: string | null;
  model_ref: string | null;
}

/** A text of an input where it may be a ref. */
const refIn = (name: string) => {
  const { sql: text } = jsonAt(document('inputs'), [name]);
  return sql`CASE WHEN length(${text}) <= 2048 THEN ${text} END`;
};

/** What is known of calls that evaluations may be. */
export const rootsQuery = (projectId: string, ids: readonly string[]): Sql<EvaluationRoot> => sql`
  SELECT c.id, ${opName} AS op_name, c.display_name, c.trace_id, ${wireTime(sql`c.started_at`)} AS started_at,
    ${wireTime(sql`c.ended_at`)} AS ended_at, c.exception,
    ${refIn('self')} AS evaluation_ref, ${refIn('model')} AS model_ref
  FROM calls c WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, ids)}`;

/** Where a call tells of its spans. */
const SPANS = sql`coalesce(
  ${jsonValueAt(document('attributes'), ['weave', 'genai_span_ref'])}, ${jsonValueAt(document('attributes'), ['weave.genai_span_ref'])},
  ${jsonValueAt({ type: 'document', sql: sql`c.summary`, isOpaque: sql`c.is_opaque` }, ['weave', 'genai_span_ref'])},
  ${jsonValueAt({ type: 'document', sql: sql`c.summary`, isOpaque: sql`c.is_opaque` }, ['weave.genai_span_ref'])})`;

export interface TrialDetailsRequest {
  projectId: string;
  trialIds: readonly string[];
  hasChildren: boolean;
  hasCosts: boolean;
  hasRaw: boolean;
}

/** What a page shows of trials beside what was scanned: `TrialDetails` as JSON texts. */
export const detailsQuery = (details: TrialDetailsRequest): Sql => {
  const { projectId, trialIds, hasChildren, hasCosts, hasRaw } = details;
  const child = sql`SELECT json_build_object('id', c.id, 'name', ${scoreName}, 'is_scorer', ${isScorer},
      'is_predict', coalesce(${isPredict}, false), 'latency', ${LATENCY_MS} / 1000,
      'spent', ${spendingJson(projectId, hasCosts ? 'priced' : 'counted')}, 'spans', ${SPANS}, 'output', CASE WHEN ${isLate} THEN ${output} END) AS child, c.is_much, c.started_at, c.id
    FROM ${children(projectId)}`;
  const below = hasChildren
    ? sql`(SELECT CASE WHEN bool_or(c.is_much) THEN 'true'::json
      ELSE coalesce(json_agg(c.child ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much), '[]') END FROM (${child}) c)`
    : sql`'[]'::json`;
  return sql`
    SELECT json_build_object('id', s.id, 'output', ${modelOutput(sql`s`)}, 'scores', s.scores, 'raw', ${hasRaw ? sql`s.example` : sql`NULL::json`},
      'latency', ${OWN_LATENCY}, 'children', ${below}, 'spent', s.spent, 'spans', s.spans)::text
    FROM unnest(${trialIds}::text[]) r (id)
    ${lookedUp(
      sql`SELECT c.id, c.inputs, c.output, c.is_opaque,
        ${jsonValueAt(document('output'), ['scores'])} AS scores,
        ${jsonValueAt(document('inputs'), ['example'])} AS example, ${spendingJson(projectId, hasCosts ? 'priced' : 'counted')} AS spent, ${SPANS} AS spans
      FROM calls c WHERE ${visibleIn(projectId)} AND c.id = r.id`,
      's',
    )}`;
};

/** What the model said, by the names of both SDKs. */
const modelOutput = (of: Sql) => sql`coalesce(
  ${jsonValueAt(document('output', of), ['output'])}, ${jsonValueAt(document('output', of), ['model_output'])})`;

/** The datasets' rows behind digests. */
export const datasetRowsQuery = (projectId: string, digests: readonly string[]) => sql<{
  digest: string;
  val: string;
}>`
  SELECT d.digest, r.val::text AS val FROM unnest(${digests}::text[]) d (digest)
  ${lookedUp(sql`SELECT val FROM table_rows WHERE project_id = ${projectId} AND digest = d.digest`, 'r')}`;

/** How many children of an evaluation have ended, and how many there are; at most so many are looked at. */
export const progressQuery = (projectId: string, rootId: string, limit: number) => sql<{
  ended: number;
  all: number;
}>`
  SELECT count(c.ended_at)::int AS ended, count(*)::int AS "all" FROM (
    SELECT c.ended_at FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = ${rootId} AND ${isTrial}
    LIMIT ${limit}::bigint) c`;

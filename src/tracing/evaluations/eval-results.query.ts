// SQL: only requested members are extracted from the stored documents.
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

/** An input's text, or null when it is too long for a ref. */
const refIn = (name: string) => {
  const { sql: text } = jsonAt(document('inputs'), [name]);
  return sql`CASE WHEN length(${text}) <= 2048 THEN ${text} END`;
};

export const rootsQuery = (projectId: string, ids: readonly string[]): Sql<EvaluationRoot> => sql`
  SELECT c.id, ${opName} AS op_name, c.display_name, c.trace_id, ${wireTime(sql`c.started_at`)} AS started_at,
    ${wireTime(sql`c.ended_at`)} AS ended_at, c.exception,
    ${refIn('self')} AS evaluation_ref, ${refIn('model')} AS model_ref
  FROM calls c WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, ids)}`;

/** The spans (`genai_span_ref`) of a call: a list or one object, in its attributes or its summary. */
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

/** Reads the details of trials that a page shows and the scan does not read, as JSON texts. */
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

/** The model's output of a trial. The Python and the TypeScript SDK store it under different names. */
const modelOutput = (of: Sql) => sql`coalesce(
  ${jsonValueAt(document('output', of), ['output'])}, ${jsonValueAt(document('output', of), ['model_output'])})`;

export const datasetRowsQuery = (projectId: string, digests: readonly string[]) => sql<{
  digest: string;
  val: string;
}>`
  SELECT d.digest, r.val::text AS val FROM unnest(${digests}::text[]) d (digest)
  ${lookedUp(sql`SELECT val FROM table_rows WHERE project_id = ${projectId} AND digest = d.digest`, 'r')}`;

/** Counts the trials of an evaluation, and those that have ended. Looks at `limit` trials at most. */
export const progressQuery = (projectId: string, rootId: string, limit: number) => sql<{
  ended: number;
  all: number;
}>`
  SELECT count(c.ended_at)::int AS ended, count(*)::int AS "all" FROM (
    SELECT c.ended_at FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = ${rootId} AND ${isTrial}
    LIMIT ${limit}::bigint) c`;

// SQL: runs, predictions and scores are calls, which are recognized by their attributes.
import { refTo } from '../../../platform/http/refs.js';
import { wire } from '../../../platform/http/wire-names.js';
import { type JsonColumn, jsonAt, jsonValueAt, wireTime } from '../../../platform/query/columns.js';
import { lookedUp, pageLimit } from '../../../platform/query/plans.js';
import {
  allOf,
  identifier,
  isListed,
  isOneOf,
  sql,
  type Sql,
} from '../../../platform/query/sql.js';
import { visibleIn } from '../../../tracing/visible-calls.js';

export interface RunsPage {
  limit?: number | null;
  offset?: number | null;
}

const document = (name: 'attributes' | 'inputs'): JsonColumn => ({
  type: 'document',
  sql: name === 'inputs' ? sql`c.inputs` : sql`c.attributes`,
  isOpaque: sql`c.is_opaque`,
});
const weaveAttribute = (name: string) => jsonAt(document('attributes'), ['weave', name]).sql;
const input = (name: string) => jsonAt(document('inputs'), [name]).sql;

const STATUS = sql`CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END`;

/** Matches the op of evaluations. Both SDKs use this name, with a digest or without. */
const isRun = (projectId: string) => {
  const prefix = refTo(projectId, 'op/Evaluation.evaluate');
  return sql`(c.op_name = 'Evaluation.evaluate' OR c.op_name >= ${`${prefix}:`} AND c.op_name < ${`${prefix};`})`;
};

const rows = (columns: Sql, from: Sql, page: RunsPage) => sql`
  SELECT row_to_json(t)::text FROM (
    SELECT ${columns} FROM ${from} ORDER BY c.started_at, c.id
    ${pageLimit(page.limit)} OFFSET ${page.offset ?? 0}::bigint) t`;

/** Reads runs as JSON texts, the oldest first. Includes runs that the SDKs recorded. */
export function runsQuery(
  projectId: string,
  asked: RunsPage & { evaluations?: string[]; models?: string[]; ids?: string[] },
): Sql {
  const evaluation = sql`coalesce(${weaveAttribute('evaluation')}, ${input('self')})`;
  const model = sql`coalesce(${weaveAttribute('model')}, ${input('model')})`;
  const { evaluations, models, ids } = asked;
  const isAsked = allOf(
    visibleIn(projectId),
    isRun(projectId),
    ids && isListed(sql`c.id`, ids),
    isOneOf(evaluation, evaluations),
    isOneOf(model, models),
  );
  return rows(
    sql`c.id AS evaluation_run_id, ${evaluation} AS evaluation, ${model} AS model, ${STATUS} AS status,
      ${wireTime(sql`c.started_at`)} AS started_at, ${wireTime(sql`c.ended_at`)} AS finished_at,
      CASE WHEN ${weaveAttribute('evaluation_run')} = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
      ${weaveAttribute('source_evaluation_run_id')} AS source_evaluation_run_id`,
    sql`calls c WHERE ${isAsked}`,
    asked,
  );
}

export type RunMarks = RunsPage & {
  runId?: string | null;
  ids?: string[];
  /** The digest of the source code of placeholder ops (`placeholderOp`). */
  source: string;
};

/**
 * Reads the calls whose attributes mark them as a prediction or a score. With a run, they are its children or
 * grandchildren. Without a run, only calls of ops that the service published are read.
 */
function markedCalls(projectId: string, name: 'prediction' | 'score', asked: RunMarks): Sql {
  const { runId, ids, source } = asked;
  const isMarked = allOf(
    visibleIn(projectId),
    sql`${weaveAttribute(name)} = 'true'`,
    ids && isListed(sql`c.id`, ids),
  );
  if (ids) return sql`calls c WHERE ${isMarked}`;
  if (!runId) {
    const suffix = name === 'prediction' ? '.predict' : '.score';
    const isPublished = sql`v.project_id = ${projectId} AND v.kind = 'op' AND right(v.object_id, ${suffix.length}::int) = ${suffix}
      AND (v.deleted_at IS NOT NULL OR v.val #>> '{files,obj.py}' = ${source})`;
    return sql`(
        SELECT DISTINCT ${refTo(projectId, 'op/')} || v.object_id || ':' || v.digest AS op_name
        FROM object_versions v WHERE ${isPublished}) v
      ${lookedUp(sql`SELECT c.* FROM calls c WHERE ${isMarked} AND c.op_name = v.op_name`, 'c')}`;
  }
  return sql`(
      SELECT ${runId} AS id UNION ALL
      SELECT c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = ${runId}) p
    ${lookedUp(sql`SELECT c.* FROM calls c WHERE ${isMarked} AND c.parent_id = p.id`, 'c')}`;
}

const runOfCall = (projectId: string) => sql`coalesce(${weaveAttribute('evaluation_run_id')}, (
  SELECT p.parent_id FROM calls p WHERE p.project_id = ${projectId} AND p.id = c.parent_id)) AS evaluation_run_id`;

const userColumn = () => sql`c.user_id AS ${identifier(wire().userId)}`;

/** Reads predictions as JSON texts, the oldest first. */
export const predictionsQuery = (projectId: string, asked: RunMarks): Sql =>
  rows(
    sql`c.id AS prediction_id, coalesce(${weaveAttribute('model')}, ${input('self')}) AS model,
      ${jsonValueAt(document('inputs'), ['inputs'])} AS inputs, c.output, ${runOfCall(projectId)}, ${userColumn()}`,
    markedCalls(projectId, 'prediction', asked),
    asked,
  );

/** Reads scores as JSON texts, the oldest first. */
export const scoresQuery = (projectId: string, asked: RunMarks): Sql =>
  rows(
    sql`c.id AS score_id, coalesce(${weaveAttribute('scorer')}, ${input('self')}) AS scorer, c.output AS value,
      ${runOfCall(projectId)}, ${userColumn()}`,
    markedCalls(projectId, 'score', asked),
    asked,
  );

/** Reads the scores of a prediction as JSON texts. They are its siblings. */
export const scoresBeside = (projectId: string, parentId: string, limit: number) => sql`
  SELECT json_build_object('scorer', coalesce(${weaveAttribute('scorer')}, c.op_name), 'output', c.output)::text FROM calls c
  WHERE ${visibleIn(projectId)} AND c.parent_id = ${parentId} AND ${weaveAttribute('score')} = 'true'
  ORDER BY c.started_at, c.id LIMIT ${limit}::bigint`;

/** Reads the outputs of the run's trials that have ended, as texts. */
export const trialOutputs = (projectId: string, runId: string) => sql`
  SELECT coalesce(CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END, 'null'::json)::text FROM calls c
  WHERE ${visibleIn(projectId)} AND c.parent_id = ${runId} AND c.ended_at IS NOT NULL
    AND (c.op_name LIKE '%Evaluation.predict_and_score%' OR c.op_name LIKE '%Evaluation.predictAndScore%')
  ORDER BY c.started_at, c.id`;

// SQL for tainted training: follows jobs from checkpoint to checkpoint, and prints lists as JSON text.
import { wireTime } from '../../platform/query/columns.js';
import { join, sql, type Sql } from '../../platform/query/sql.js';
import { lookedUp } from '../../platform/query/plans.js';
import { visibleIn } from '../../tracing/visible-calls.js';

export const MAX_LISTED = 1000;

export const buildsOfCalls = (projectId: string, calls: readonly string[]) => sql<{ id: string }>`
  SELECT DISTINCT i.build_id AS id FROM build_inputs i
  WHERE i.project_id = ${projectId} AND i.kind = 'call' AND i.id = ANY(${calls}::text[])
  ORDER BY id LIMIT ${MAX_LISTED + 1}`;

/**
 * Selects the builds made of calls of traces in which a call belongs to the user. The first of the fields `user` with
 * a value names the user.
 */
export const buildsOfUser = (projectId: string, user: Sql[], userId: string) => sql<{ id: string }>`
  SELECT DISTINCT i.build_id AS id FROM (
    SELECT DISTINCT c.trace_id FROM calls c WHERE ${visibleIn(projectId)} AND coalesce(${join(user)}) = ${userId}) t
  ${lookedUp(sql`SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.trace_id = t.trace_id`, 'c')}
  ${lookedUp(
    sql`SELECT i.build_id FROM build_inputs i
      WHERE i.project_id = ${projectId} AND i.kind = 'call' AND i.id = c.id`,
    'i',
  )}
  ORDER BY id LIMIT ${MAX_LISTED + 1}`;

/**
 * Selects the jobs that were trained on builds, and the jobs that descend from their checkpoints. With `isNew`,
 * selects only jobs without a mark: a marked job was followed when it was marked.
 */
const taintedJobs = (projectId: string, builds: readonly string[], isNew: boolean) => {
  const unmarked = isNew ? sql`AND j.tainted_at IS NULL` : sql``;
  return sql`WITH RECURSIVE tainted AS (
    SELECT j.id, j.model_id, j.step FROM training_jobs j
    WHERE j.project_id = ${projectId} ${unmarked} AND j.id IN (SELECT bj.job_id FROM build_jobs bj
      WHERE bj.project_id = ${projectId} AND bj.build_id = ANY(${builds}::uuid[]))
    UNION
    SELECT j.id, j.model_id, j.step FROM tainted t
    ${lookedUp(
      sql`SELECT j.id, j.model_id, j.step FROM training_jobs j
        WHERE j.project_id = ${projectId} AND j.model_id = t.model_id AND j.parent_step = t.step
          AND j.status NOT IN ('failed', 'cancelled') ${unmarked}`,
      'j',
    )})`;
};

export const buildsMark = (projectId: string, builds: readonly string[]) => sql`
  UPDATE builds SET tainted_at = statement_timestamp()
  WHERE project_id = ${projectId} AND id = ANY(${builds}::uuid[]) AND tainted_at IS NULL`;

export const jobsMark = (projectId: string, builds: readonly string[]) => sql<{
  model_id: string;
  step: number | null;
}>`
  ${taintedJobs(projectId, builds, true)}
  UPDATE training_jobs j SET tainted_at = statement_timestamp()
  WHERE j.project_id = ${projectId} AND j.id IN (SELECT id FROM tainted) RETURNING j.model_id, j.step`;

export const checkpointsMark = (
  projectId: string,
  modelId: string,
  steps: readonly number[],
) => sql`
  UPDATE checkpoints SET tainted_at = statement_timestamp()
  WHERE project_id = ${projectId} AND model_id = ${modelId} AND step = ANY(${steps}::int[]) AND tainted_at IS NULL`;

/** Selects rows that are marked already, or rows that descend from the given builds. */
export type TaintedSelection = 'marked' | readonly string[];

export const buildsList = (projectId: string, wanted: TaintedSelection) => sql<{ json: string }>`
  SELECT json_build_object('id', b.id, 'recipe_name', b.recipe_name, 'erased_at', ${wireTime(sql`b.erased_at`)},
    'tainted_at', ${wireTime(sql`b.tainted_at`)})::text AS json
  FROM builds b WHERE b.project_id = ${projectId}
    AND ${wanted === 'marked' ? sql`b.tainted_at IS NOT NULL` : sql`b.id = ANY(${wanted}::uuid[])`}
  ORDER BY b.id LIMIT ${MAX_LISTED + 1}`;

const withTainted = (projectId: string, wanted: TaintedSelection) =>
  wanted === 'marked' ? sql`` : taintedJobs(projectId, wanted, false);

export const jobsList = (projectId: string, wanted: TaintedSelection) => sql<{ json: string }>`
  ${withTainted(projectId, wanted)}
  SELECT json_build_object('id', j.id, 'model_id', j.model_id, 'status', j.status, 'parent_step', j.parent_step,
    'step', j.step, 'tainted_at', ${wireTime(sql`j.tainted_at`)})::text AS json
  FROM training_jobs j WHERE j.project_id = ${projectId}
    AND ${wanted === 'marked' ? sql`j.tainted_at IS NOT NULL` : sql`j.id IN (SELECT id FROM tainted)`}
  ORDER BY j.id LIMIT ${MAX_LISTED + 1}`;

export const checkpointsList = (projectId: string, wanted: TaintedSelection) => sql<{
  json: string;
}>`
  ${withTainted(projectId, wanted)}
  SELECT json_build_object('model_id', c.model_id, 'model', m.name, 'step', c.step, 'aliases', ARRAY(
      SELECT a.alias FROM model_aliases a
      WHERE a.project_id = ${projectId} AND a.model_id = c.model_id AND a.step = c.step ORDER BY a.alias),
    'tainted_at', ${wireTime(sql`c.tainted_at`)})::text AS json
  FROM checkpoints c
  LEFT JOIN models m ON m.project_id = ${projectId} AND m.id = c.model_id
  WHERE c.project_id = ${projectId}
    AND ${wanted === 'marked' ? sql`c.tainted_at IS NOT NULL` : sql`(c.model_id, c.step) IN (SELECT model_id, step FROM tainted)`}
  ORDER BY c.model_id, c.step LIMIT ${MAX_LISTED + 1}`;

// SQL for the lineage: joins builds, jobs, checkpoints and calls.
import { jsonAt, wireTime } from '../../../platform/query/columns.js';
import { isListed, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../../tracing/visible-calls.js';
import { lookedUp } from '../../../platform/query/plans.js';
import type { BuildInput } from '../build-input.entity.js';
import type { LineageCheckpointDto } from './lineage.dto.js';
import { INPUTS, isCallOfModel } from '../../model-calls.query.js';

/** Largest number of calls that a checkpoint is listed with. Other edges have ten times as many. */
export const MAX_CALLS = 1000;

export type InputEdge = Pick<BuildInput, 'kind' | 'id'> & { build_id: string };

export const buildsOfInputs = (projectId: string, kind: string, ids: string[]) => sql<InputEdge>`
  SELECT i.kind, i.id, i.build_id FROM build_inputs i
  WHERE i.project_id = ${projectId} AND i.kind = ${kind} AND i.id = ANY(${ids}::text[])
  ORDER BY i.id, i.build_id LIMIT ${MAX_CALLS * 10 + 1}`;

export const inputsOfBuilds = (projectId: string, builds: string[]) => sql<InputEdge>`
  SELECT i.kind, i.id, i.build_id FROM build_inputs i
  WHERE i.project_id = ${projectId} AND i.build_id = ANY(${builds}::uuid[])
  ORDER BY i.build_id, i.kind, i.id LIMIT ${MAX_CALLS * 10 + 1}`;

/** A job, the build that it was made from if any, and the checkpoint that it made if any. */
export interface JobEdge {
  build_id: string | null;
  job_id: string;
  model_id: string;
  model: string | null;
  step: number | null;
  parent_step: number | null;
}

const jobs = (projectId: string, condition: Sql) => sql<JobEdge>`
  SELECT bj.build_id, j.id AS job_id, j.model_id, m.name AS model, j.step, j.parent_step
  FROM training_jobs j
  LEFT JOIN build_jobs bj ON bj.project_id = ${projectId} AND bj.job_id = j.id
  LEFT JOIN models m ON m.project_id = ${projectId} AND m.id = j.model_id
  WHERE j.project_id = ${projectId} AND ${condition} ORDER BY j.id, bj.build_id LIMIT ${MAX_CALLS}`;

export const jobsOfBuilds = (projectId: string, builds: string[]) =>
  jobs(
    projectId,
    sql`j.id = ANY(ARRAY(SELECT job_id FROM build_jobs
    WHERE project_id = ${projectId} AND build_id = ANY(${builds}::uuid[])))`,
  );

export const jobsById = (projectId: string, id: string) => jobs(projectId, sql`j.id = ${id}::uuid`);

export const jobsOfCheckpoint = (projectId: string, modelId: string, step: number) =>
  jobs(projectId, sql`j.model_id = ${modelId}::uuid AND j.step = ${step}::int`);

/** Selects the newest calls of a model: calls that requested this name, or whose usage is counted under it. */
export const callsOfModel = (projectId: string, name: string) => sql<{ id: string }>`
  SELECT c.id FROM calls c
  WHERE ${visibleIn(projectId)} AND ${isCallOfModel(name)}
  ORDER BY c.started_at DESC, c.id LIMIT ${MAX_CALLS + 1}`;

export type LineageCheckpoint = Pick<LineageCheckpointDto, 'model_id' | 'model' | 'step'>;

/** Selects the given builds, jobs and checkpoints that are tainted. */
export const marksQuery = (
  projectId: string,
  { builds, jobs, models }: { builds: string[]; jobs: string[]; models: string[] },
) => sql<{ node: string; tainted_at: string }>`
  SELECT 'build ' || id AS node, ${wireTime(sql`tainted_at`)} AS tainted_at FROM builds
  WHERE project_id = ${projectId} AND id = ANY(${builds}::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'job ' || id, ${wireTime(sql`tainted_at`)} FROM training_jobs
  WHERE project_id = ${projectId} AND id = ANY(${jobs}::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'checkpoint ' || model_id || ' ' || step, ${wireTime(sql`tainted_at`)} FROM checkpoints
  WHERE project_id = ${projectId} AND model_id = ANY(${models}::uuid[]) AND tainted_at IS NOT NULL`;

/** Selects the checkpoints that made calls, by the model name in the call: `<name>:step<N>`. */
export const makersOfCalls = (
  projectId: string,
  ids: string[],
): Sql<LineageCheckpoint & { call_id: string }> => sql`
  SELECT DISTINCT c.id AS call_id, m.id AS model_id, m.name AS model, k.step FROM (
    SELECT c.id, ${jsonAt(INPUTS, ['model']).sql} AS model FROM calls c
    WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)}
    UNION
    SELECT c.id, u.llm_id FROM calls c
    CROSS JOIN LATERAL json_to_recordset(c.usage) u (llm_id text)
    WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)}) c
  ${lookedUp(
    sql`SELECT m.id, m.name FROM models m
    WHERE m.project_id = ${projectId} AND m.name = regexp_replace(c.model, ':step[0-9]{1,9}$', '') AND m.deleted_at IS NULL`,
    'm',
  )}
  ${lookedUp(
    sql`SELECT k.step FROM checkpoints k
    WHERE k.project_id = ${projectId} AND k.model_id = m.id AND k.step = substring(c.model FROM ':step([0-9]{1,9})$')::int
      AND m.name || ':step' || k.step = c.model`,
    'k',
  )}
  ORDER BY c.id, k.step LIMIT ${MAX_CALLS * 10}`;

/** A job that made a checkpoint, and the build of groups that it was trained on, if any. */
export interface MakerRow {
  job_id: string;
  step: number;
  parent_step: number;
  is_tainted: boolean;
  build_id: string | null;
}

/** Selects the jobs that made the checkpoints of a model up to a step, the newest first. */
export const makersQuery = (projectId: string, modelId: string, step: number) => sql<MakerRow>`
  SELECT j.id AS job_id, j.step, j.parent_step, j.tainted_at IS NOT NULL AS is_tainted,
    (SELECT bj.build_id FROM build_jobs bj WHERE bj.project_id = ${projectId} AND bj.job_id = j.id AND j.kind = 'rl'
      ORDER BY bj.created_at, bj.build_id LIMIT 1) AS build_id
  FROM training_jobs j
  WHERE j.project_id = ${projectId} AND j.model_id = ${modelId} AND j.step <= ${step}
  ORDER BY j.step DESC`;

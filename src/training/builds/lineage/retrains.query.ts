// SQL that joins jobs with the builds that they were made from.
import { sql } from '../../../platform/query/sql.js';

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

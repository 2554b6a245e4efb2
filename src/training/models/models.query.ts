// SQL for models: lists by the scopes of a key, metrics that PostgreSQL prints, guarded changes, and changes that
// return the changed rows.
import type { Caller } from '../../platform/auth/caller.js';
import { wireTime } from '../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import type { Model } from './model.entity.js';
import type { CheckpointsQueryDto, ModelsQueryDto } from './models.dto.js';
import { type ListItem, PAGE_SIZE } from '../pages.js';
import { isAskedFor, isReached, latestStep, type ModelKey, OF_MODEL } from '../preview.query.js';

export type ModelIdentity = ModelKey & Pick<Model, 'name' | 'baseModel'>;

/** Inserts a model. Returns no row when the project has a model of this name. */
export const modelInsert = (model: ModelIdentity, userId: string) => sql`
  INSERT INTO models (project_id, id, name, base_model, user_id)
  VALUES (${model.projectId}, ${model.id}, ${model.name}, ${model.baseModel}, ${userId})
  ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING 1`;

export const modelsPage = (query: ModelsQueryDto, caller: Caller) => sql<ModelIdentity>`
  SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE ${allOf(
    sql`m.deleted_at IS NULL`,
    isReached(sql`m.project_id`, caller),
    isAskedFor(sql`m.project_id`, query),
    query.name && sql`m.name = ${query.name}`,
    query.after && sql`m.id > ${query.after}`,
  )}
  ORDER BY m.id LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`;

/**
 * Largest size of a page, which contains at least one checkpoint. Checkpoints from before metrics had a limit may
 * have many.
 */
const PAGE_BYTES = 8_388_608;

/**
 * Selects a page of checkpoints. `found` is greater than the number of rows when more exist, also when the page ends
 * early.
 */
export function checkpointsPage(
  { projectId, id }: ModelKey,
  { order, limit }: CheckpointsQueryDto,
  afterStep: number | null,
): Sql<ListItem & { found: number }> {
  const isDescending = order === 'desc';
  const ordered = sql`ORDER BY step ${isDescending ? sql`DESC` : sql`ASC`}`;
  return sql`
    SELECT id, (CASE WHEN tainted_at IS NULL THEN json_build_object('id', id, 'step', step, 'metrics', metrics)
      ELSE json_build_object('id', id, 'step', step, 'metrics', metrics, 'tainted_at', ${wireTime(sql`tainted_at`)}) END)::text AS json, found
    FROM (
      SELECT id, step, metrics, tainted_at, row_number() OVER seen AS place, (count(*) OVER ())::int AS found,
        sum(octet_length(metrics::text)) OVER seen AS bytes
      FROM (SELECT id, step, metrics, tainted_at FROM checkpoints WHERE ${allOf(
        OF_MODEL(projectId, id),
        afterStep !== null && (isDescending ? sql`step < ${afterStep}` : sql`step > ${afterStep}`),
      )}
      ${ordered} LIMIT ${(limit ?? PAGE_SIZE) + 1}) asked
      WINDOW seen AS (${ordered} ROWS UNBOUNDED PRECEDING)) shown
    WHERE place = 1 OR bytes <= ${PAGE_BYTES}::bigint ${ordered}`;
}

/** Merges metrics into the latest checkpoint. Returns its step, and the number and size of its metrics. */
export const metricsMerge = (project: string, model: string, metrics: string) => sql<{
  step: number;
  names: number;
  bytes: number;
}>`
  UPDATE checkpoints SET metrics = metrics || ${metrics}::jsonb
  WHERE ${OF_MODEL(project, model)} AND step = (${latestStep(project, model)})
  RETURNING step, (SELECT count(*)::int FROM jsonb_object_keys(metrics)) AS names, octet_length(metrics::text) AS bytes`;

/** Deletes the given steps, except the latest one of the model and the parents of jobs under way. */
export const checkpointsDelete = (project: string, model: string, steps: number[]) => sql<{
  step: number;
  job_id: string | null;
}>`
  DELETE FROM checkpoints
  WHERE ${OF_MODEL(project, model)} AND step = ANY(${steps}::int[]) AND step < (${latestStep(project, model)})
    AND step NOT IN (SELECT j.parent_step FROM training_jobs j
      WHERE j.project_id = ${project} AND j.model_id = ${model} AND j.status IN ('leased', 'running'))
  RETURNING step, job_id`;

export const checkpointsDeleteAll = (
  project: string,
  model: string,
): Sql<{ job_id: string | null }> =>
  sql`DELETE FROM checkpoints WHERE ${OF_MODEL(project, model)} RETURNING job_id`;

export const checkpointJson = ({ projectId, id }: ModelKey, step: number) => sql<{
  json: string;
}>`
  SELECT json_build_object('id', id, 'step', step, 'metrics', metrics, 'created_at', ${wireTime(sql`created_at`)}, 'tainted_at', ${wireTime(sql`tainted_at`)},
    'job_id', job_id, 'uri', uri, 'sha256', sha256, 'size_bytes', size_bytes, 'config', config,
    'files', coalesce(files, '[]'),
    'aliases', (SELECT coalesce(json_agg(a.alias ORDER BY a.alias), '[]') FROM model_aliases a
      WHERE a.project_id = ${projectId} AND a.model_id = ${id} AND a.step = ${step}),
    'serving', coalesce((
      SELECT json_agg(json_build_object('provider', s.provider, 'upstream_model', s.upstream_model,
        'expires_at', ${wireTime(sql`s.expires_at`)}) ORDER BY s.provider)
      FROM served_checkpoints s
      WHERE s.project_id = ${projectId} AND s.model_id = ${id} AND s.step = ${step} AND s.expires_at > now()), '[]'))::text AS json
  FROM checkpoints WHERE ${OF_MODEL(projectId, id)} AND step = ${step}`;

export const batchesDelete = (project: string, model: string): Sql<{ id: string }> =>
  sql`DELETE FROM trajectory_batches WHERE ${OF_MODEL(project, model)} RETURNING id`;

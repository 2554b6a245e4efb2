// SQL: a list by the scopes of a key, metrics that PostgreSQL prints, and changes that are guarded or answer which rows they changed.
import type { Caller } from '../../platform/auth/caller.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import type { Model } from './model.entity.js';
import type { CheckpointsQueryDto, ModelsQueryDto } from './models.dto.js';
import { type Item, PAGE_SIZE } from '../pages.js';
import { isAskedFor, isReached, latestStep, type ModelKey, OF_MODEL } from '../preview.query.js';

export type FoundModel = ModelKey & Pick<Model, 'name' | 'baseModel'>;

/** No row where the project has a model of the name. */
export const modelInsert = (model: FoundModel, userId: string) => sql`
  INSERT INTO models (project_id, id, name, base_model, user_id)
  VALUES (${model.projectId}, ${model.id}, ${model.name}, ${model.baseModel}, ${userId})
  ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING 1`;

export const modelsPage = (query: ModelsQueryDto, caller: Caller) => sql<FoundModel>`
  SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE ${allOf(
    sql`m.deleted_at IS NULL`,
    isReached(sql`m.project_id`, caller),
    isAskedFor(sql`m.project_id`, query),
    query.name && sql`m.name = ${query.name}`,
    query.after && sql`m.id > ${query.after}`,
  )}
  ORDER BY m.id LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`;

export function checkpointsPage(
  { projectId, id }: ModelKey,
  { order, limit }: CheckpointsQueryDto,
  afterStep: number | null,
): Sql<Item> {
  const isDescending = order === 'desc';
  return sql`
    SELECT id, json_build_object('id', id, 'step', step, 'metrics', metrics)::text AS json FROM checkpoints
    WHERE ${allOf(
      OF_MODEL(projectId, id),
      afterStep !== null && (isDescending ? sql`step < ${afterStep}` : sql`step > ${afterStep}`),
    )}
    ORDER BY step ${isDescending ? sql`DESC` : sql`ASC`} LIMIT ${(limit ?? PAGE_SIZE) + 1}`;
}

/** Merges metrics into the latest checkpoint and answers its step. */
export const metricsMerge = (project: string, model: string, metrics: string) => sql<{
  step: number;
}>`
  UPDATE checkpoints SET metrics = metrics || ${metrics}::jsonb
  WHERE ${OF_MODEL(project, model)} AND step = (${latestStep(project, model)}) RETURNING step`;

/** All of the steps but the latest one of the model. */
export const checkpointsDelete = (project: string, model: string, steps: number[]) => sql<{
  step: number;
}>`
  DELETE FROM checkpoints
  WHERE ${OF_MODEL(project, model)} AND step = ANY(${steps}::int[]) AND step < (${latestStep(project, model)})
  RETURNING step`;

export const batchesDelete = (project: string, model: string): Sql<{ id: string }> =>
  sql`DELETE FROM trajectory_batches WHERE ${OF_MODEL(project, model)} RETURNING id`;

import type { Caller } from '../../platform/auth/caller.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import type { CheckpointsQueryDto, ModelsQueryDto } from './models.dto.js';
import { type Item, PAGE_SIZE } from '../pages.js';
import { isAskedFor, isReached, latestStep, MODEL, ModelRow, OF_MODEL } from '../preview.query.js';

export const modelInsert = (model: ModelRow, userId: string) => sql<ModelRow>`
  INSERT INTO models AS m (project_id, id, name, base_model, user_id)
  VALUES (${model.project_id}, ${model.id}, ${model.name}, ${model.base_model}, ${userId})
  ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING ${MODEL}`;

export const modelByName = (project: string, name: string) => sql<ModelRow>`
  SELECT ${MODEL} FROM models m WHERE m.project_id = ${project} AND m.name = ${name} AND m.deleted_at IS NULL`;

export const modelById = (id: string, caller: Caller) => sql<ModelRow>`
  SELECT ${MODEL} FROM models m WHERE m.id = ${id} AND m.deleted_at IS NULL AND ${isReached(sql`m.project_id`, caller)}`;

export const modelsPage = (query: ModelsQueryDto, caller: Caller) => sql<ModelRow>`
  SELECT ${MODEL} FROM models m
  WHERE ${allOf(
    sql`m.deleted_at IS NULL`,
    isReached(sql`m.project_id`, caller),
    isAskedFor(sql`m.project_id`, query),
    query.name && sql`m.name = ${query.name}`,
    query.after && sql`m.id > ${query.after}`,
  )}
  ORDER BY m.id LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`;

export function checkpointsPage(
  { project_id, id }: ModelRow,
  { order, limit }: CheckpointsQueryDto,
  afterStep: number | null,
): Sql<Item> {
  const isDescending = order === 'desc';
  return sql`
    SELECT id, json_build_object('id', id, 'step', step, 'metrics', metrics)::text AS json FROM checkpoints
    WHERE ${allOf(
      OF_MODEL(project_id, id),
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

// SQL that models and jobs share, and a lock.
import type { Caller } from '../platform/auth/caller.js';
import { sql, type Sql } from '../platform/query/sql.js';
import type { Model } from './models/model.entity.js';
import type { ProjectPageQueryDto } from './preview.dto.js';

export type ModelKey = Pick<Model, 'projectId' | 'id'>;

/** True when the project of a row is in the caller's scopes. Ids are looked up in all projects. */
export function isReached(projectId: Sql, { scopes }: Caller): Sql {
  if (scopes.includes('*')) return sql`TRUE`;
  return sql`(${projectId} = ANY(${scopes}::text[]) OR split_part(${projectId}, '/', 1) || '/*' = ANY(${scopes}::text[]))`;
}

/** True when a row belongs to the requested entity and project. Both together name one project, and use its index. */
export function isAskedFor(
  projectId: Sql,
  { entity, project }: ProjectPageQueryDto,
): Sql | undefined {
  if (entity && project) return sql`${projectId} = ${`${entity}/${project}`}`;
  if (entity) return sql`split_part(${projectId}, '/', 1) = ${entity}`;
  return project ? sql`split_part(${projectId}, '/', 2) = ${project}` : undefined;
}

/**
 * Locks a model. A transaction that adds to a model takes this lock first, so that steps and jobs are checked one
 * after the other.
 */
export const modelLock = (project: string, id: string) => sql`
  SELECT 1 FROM models m
  WHERE m.project_id = ${project} AND m.id = ${id} AND m.deleted_at IS NULL FOR NO KEY UPDATE`;

export const OF_MODEL = (project: string, model: string) =>
  sql`project_id = ${project} AND model_id = ${model}`;

export const latestStep = (project: string, model: string): Sql<{ step: number }> =>
  sql`SELECT max(step) AS step FROM checkpoints WHERE ${OF_MODEL(project, model)}`;

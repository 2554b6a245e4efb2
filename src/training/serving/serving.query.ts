// SQL for serving: times of the database, lists that join models and checkpoints, and lists by the scopes of a key.
import type { Caller } from '../../platform/auth/caller.js';
import { lock, textLock } from '../../platform/database/advisory-locks.js';
import {
  allOf,
  Parameter,
  prepared,
  type PreparedStatement,
  sql,
} from '../../platform/query/sql.js';
import { PAGE_SIZE } from '../pages.js';
import { isReached } from '../preview.query.js';
import type { ServableQueryDto, ServedDto, ServingDto } from './serving.dto.js';

/** Newest checkpoints of a model that a server is sent. */
const NEWEST_STEPS = 20;

/** Records that a checkpoint is served, or extends the record. Returns no row when the checkpoint does not exist. */
export const servingUpsert = (projectId: string, serving: ServingDto) => sql<{
  expires_at: Date;
}>`
  INSERT INTO served_checkpoints (project_id, model_id, step, provider, upstream_model, expires_at)
  SELECT k.project_id, k.model_id, k.step, ${serving.provider}, ${serving.upstream_model},
    now() + make_interval(secs => ${serving.ttl_seconds})
  FROM checkpoints k
  WHERE k.project_id = ${projectId} AND k.model_id = ${serving.model_id}::uuid AND k.step = ${serving.step}
  ON CONFLICT (project_id, model_id, step, provider)
  DO UPDATE SET upstream_model = excluded.upstream_model, expires_at = excluded.expires_at
  RETURNING expires_at`;

export const expiredDelete = (projectId: string, modelId: string) => sql`
  DELETE FROM served_checkpoints
  WHERE project_id = ${projectId} AND model_id = ${modelId}::uuid AND expires_at < now() - interval '1 hour'`;

export const servingDelete = (projectId: string, { model_id, step, provider }: ServedDto) => sql`
  DELETE FROM served_checkpoints
  WHERE project_id = ${projectId} AND model_id = ${model_id}::uuid AND step = ${step} AND provider = ${provider}
  RETURNING 1`;

/** Makes projects that announce the same name at a provider wait for each other. */
const NAMES = textLock(0x73657276);
export const nameLock = ({ provider, upstream_model }: ServingDto) =>
  lock(NAMES, `${provider} ${upstream_model}`);

/**
 * Finds a checkpoint of another project with the name at the provider. Step 0 is the base model, which projects may
 * share.
 */
export const nameTakenQuery = (
  projectId: string,
  { step, provider, upstream_model }: ServingDto,
) => sql`
  SELECT 1 FROM served_checkpoints
  WHERE project_id <> ${projectId} AND provider = ${provider} AND upstream_model = ${upstream_model}
    AND (step > 0 OR ${step}::int > 0) AND expires_at > now() LIMIT 1`;

/** A served step of a model; all other members are null for a model without a served step. */
export interface ServedStep {
  model_id: string;
  step: number | null;
  provider: string | null;
  upstream_model: string | null;
}

/** Selects one step, the step of an alias, or, when both are null, any step that was not trained on purged calls. */
export interface StepSelector {
  step: number | null;
  alias: string | null;
}

/** Parameters in the order of their first use in the statement. */
const [PROJECT, STEP, ALIAS, NAME] = Array.from({ length: 4 }, () => new Parameter(null));

/** Prepared, because every request of the gateway runs it, and planning takes longer than running. */
const SERVED = prepared(
  'gateway.served',
  sql<ServedStep>`
  SELECT m.id AS model_id, s.step, s.provider, s.upstream_model
  FROM models m LEFT JOIN (served_checkpoints s
    JOIN checkpoints k ON k.project_id = ${PROJECT} AND k.model_id = s.model_id AND k.step = s.step)
    ON s.project_id = ${PROJECT} AND s.model_id = m.id AND s.expires_at > now()
      AND CASE WHEN ${STEP}::int IS NOT NULL THEN s.step = ${STEP}::int
        WHEN ${ALIAS}::text IS NULL THEN k.tainted_at IS NULL
        ELSE s.step = (SELECT a.step FROM model_aliases a
          WHERE a.project_id = ${PROJECT} AND a.model_id = m.id AND a.alias = ${ALIAS}) END
  WHERE m.project_id = ${PROJECT} AND m.name = ${NAME} AND m.deleted_at IS NULL
  ORDER BY s.step DESC NULLS LAST, s.provider LIMIT 100`,
);

/** Selects the providers of a model, the newest step first. Returns no row when the model does not exist. */
export const servedQuery = (
  projectId: string,
  name: string,
  { step, alias }: StepSelector,
): PreparedStatement<ServedStep> => ({ ...SERVED, values: [projectId, step, alias, name] });

export interface ListedCheckpoint {
  project_id: string;
  name: string;
  step: number;
  created: number;
}

/**
 * Selects the served checkpoints of all projects in the scopes of a key, or of one project. `created` is the time of
 * the model, in seconds.
 */
export const listedQuery = (caller: Caller, projectId: string | undefined, limit: number) =>
  sql<ListedCheckpoint>`
  SELECT DISTINCT m.project_id, m.name, extract(epoch FROM m.created_at)::int AS created, s.step
  FROM served_checkpoints s
  JOIN models m ON m.project_id = s.project_id AND m.id = s.model_id AND m.deleted_at IS NULL
  WHERE ${allOf(
    sql`s.expires_at > now()`,
    projectId === undefined
      ? isReached(sql`s.project_id`, caller)
      : sql`s.project_id = ${projectId}`,
  )}
  ORDER BY m.project_id, m.name, created, s.step LIMIT ${limit}`;

export interface ServableModel {
  project_id: string;
  id: string;
  name: string;
  base_model: string;
}

export const servablePage = (query: ServableQueryDto, caller: Caller) => sql<ServableModel>`
  SELECT m.project_id, m.id, m.name, m.base_model FROM models m
  WHERE ${allOf(
    sql`m.deleted_at IS NULL`,
    isReached(sql`m.project_id`, caller),
    query.base_model && sql`m.base_model = ${query.base_model}`,
    query.after && sql`m.id > ${query.after}`,
  )}
  ORDER BY m.id LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`;

/** Selects the checkpoints of models that may be served: the newest ones, step 0, and those with an alias. */
export const newestSteps = (projectId: string, models: string[]) => sql<{
  model_id: string;
  step: number;
  files: boolean;
  aliases: string[];
}>`
  SELECT k.model_id, k.step, k.files, k.aliases FROM (
    SELECT c.model_id, c.step, c.files IS NOT NULL AS files,
      ARRAY(SELECT a.alias FROM model_aliases a
        WHERE a.project_id = ${projectId} AND a.model_id = c.model_id AND a.step = c.step ORDER BY a.alias) AS aliases,
      row_number() OVER (PARTITION BY c.model_id ORDER BY c.step DESC) AS place
    FROM checkpoints c
    WHERE c.project_id = ${projectId} AND c.model_id = ANY(${models}::uuid[]) AND c.tainted_at IS NULL) k
  WHERE k.place <= ${NEWEST_STEPS}::bigint OR k.step = 0 OR k.aliases <> '{}' ORDER BY k.model_id, k.step DESC`;

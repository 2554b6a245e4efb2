// SQL for builds. Builds are written and read as streams, the recipe keeps its text, and lists are JSON text.
import { column, type Columns, orderBy, page, wireTime } from '../../platform/query/columns.js';
import { allOf, isOneOf, sql, type Sql } from '../../platform/query/sql.js';
import { wire } from '../../platform/http/wire-names.js';
import type { BuiltGroup, BuildInputDigest } from './groups/build-run.js';
import type { Build } from './build.entity.js';
import type { BuildChunk } from './build-chunk.entity.js';
import type { BuildsQueryDto } from './builds.dto.js';
import { textsSha256 } from './units/units.query.js';

type BuildTexts = Record<'recipe' | 'counts' | 'lints' | 'facts' | 'asOf', string>;

/** A build to store. Its documents are JSON texts. */
type NewBuild = Omit<Build, keyof BuildTexts | 'createdAt' | 'erasedAt' | 'taintedAt'> & BuildTexts;

export const buildInsert = (build: NewBuild) => sql`
  INSERT INTO builds (project_id, id, recipe_name, recipe_digest, recipe, mode, builder_version, as_of, digest,
    manifest_digest, num_chunks, counts, lints, facts, user_id)
  VALUES (${build.projectId}, ${build.id}, ${build.recipeName}, ${build.recipeDigest}, ${build.recipe}::json,
    ${build.mode}, ${build.builderVersion}, ${build.asOf}::timestamptz, ${build.digest}, ${build.manifestDigest},
    ${build.numChunks}, ${build.counts}::json, ${build.lints}::json, ${build.facts}::json, ${build.userId})`;

export type PackedChunk = Pick<BuildChunk, 'seq' | 'split' | 'text'>;

export const chunkInsert = (
  projectId: string,
  buildId: string,
  { seq, split, text }: PackedChunk,
) =>
  sql`INSERT INTO build_chunks (project_id, build_id, seq, split, text)
    VALUES (${projectId}, ${buildId}, ${seq}, ${split}, ${text})`;

export const inputsInsert = (
  projectId: string,
  buildId: string,
  inputs: readonly BuildInputDigest[],
) => sql`
  INSERT INTO build_inputs (project_id, build_id, kind, id, sha256)
  SELECT ${projectId}, ${buildId}::uuid, i.* FROM unnest(${inputs.map(({ kind }) => kind)}::text[],
    ${inputs.map(({ id }) => id)}::text[], ${inputs.map(({ sha256 }) => sha256)}::text[]) i
  ON CONFLICT DO NOTHING`;

export function unitsInsert(
  projectId: string,
  buildId: string,
  groupIndex: number,
  { split, trajectories }: BuiltGroup,
): Sql {
  return sql`
    INSERT INTO build_units (project_id, build_id, group_index, trajectory_index, split, unit_id, call_id, reward)
    SELECT ${projectId}, ${buildId}::uuid, ${groupIndex}::int, u.place - 1, ${split}, u.unit_id, u.call_id, u.reward
    FROM unnest(${trajectories.map(({ unit }) => unit.id)}::text[],
      ${trajectories.map(({ unit }) => unit.root.id)}::text[],
      ${trajectories.map(({ reward }) => reward.total)}::float8[])
      WITH ORDINALITY u (unit_id, call_id, reward, place)`;
}

export const manifestQuery = (
  projectId: string,
  buildId: string,
  after: { kind: string; id: string } | null,
) => sql<{ kind: string; id: string; sha256: string }>`
  SELECT kind, id, sha256 FROM build_inputs WHERE project_id = ${projectId} AND build_id = ${buildId}
    ${after ? sql`AND (kind, id) > (${after.kind}, ${after.id})` : sql``}
  ORDER BY kind, id LIMIT 5000`;

export interface BuildRow {
  id: string;
  recipe_name: string;
  recipe_digest: string;
  recipe: string;
  num_chunks: number;
  is_erased: boolean;
}

export const buildQuery = (projectId: string, id: string) => sql<BuildRow>`
  SELECT id, recipe_name, recipe_digest, recipe::text AS recipe, num_chunks, erased_at IS NOT NULL AS is_erased
  FROM builds WHERE project_id = ${projectId} AND id = ${id}::uuid`;

export const chunksQuery = (projectId: string, buildId: string, seq: number) => sql<PackedChunk>`
  SELECT seq, split, text FROM build_chunks
  WHERE project_id = ${projectId} AND build_id = ${buildId}::uuid AND seq > ${seq} ORDER BY seq LIMIT 4`;

export const jobInsert = (
  projectId: string,
  buildId: string,
  job: { id: string; logBatchId: string | null },
) => sql`
  INSERT INTO build_jobs (project_id, build_id, job_id, log_batch_id)
  VALUES (${projectId}, ${buildId}, ${job.id}, ${job.logBatchId}) ON CONFLICT DO NOTHING`;

const FIELDS: Columns = {
  id: column.text(sql`b.id::text`, { isNotNull: true }),
  created_at: column.time(sql`b.created_at`, { isNotNull: true }),
  as_of: column.time(sql`b.as_of`, { isNotNull: true }),
  recipe_name: column.text(sql`b.recipe_name`, { isNotNull: true }),
  digest: column.text(sql`b.digest`, { isNotNull: true }),
};

const buildJobs = (projectId: string) => sql`(
  SELECT coalesce(json_agg(json_build_object('job_id', bj.job_id, 'model_id', j.model_id, 'status', j.status,
    'step', j.step, 'erased_at', ${wireTime(sql`bj.erased_at`)}) ORDER BY bj.created_at, bj.job_id), '[]'::json)
  FROM build_jobs bj LEFT JOIN training_jobs j ON j.project_id = ${projectId} AND j.id = bj.job_id
  WHERE bj.project_id = ${projectId} AND bj.build_id = b.id)`;

export function buildsQuery({ project_id, filter, sort_by, limit, offset }: BuildsQueryDto): Sql {
  const sorts = sort_by?.length ? sort_by : [{ field: 'created_at', direction: 'asc' } as const];
  return sql`
    SELECT json_build_object('id', b.id, 'project_id', b.project_id, 'recipe_name', b.recipe_name,
      'recipe_digest', b.recipe_digest, 'mode', b.mode, 'builder_version', b.builder_version,
      'as_of', ${wireTime(sql`b.as_of`)}, 'digest', b.digest, 'manifest_digest', b.manifest_digest,
      'counts', b.counts, 'lints', b.lints, 'facts', b.facts, 'jobs', ${buildJobs(project_id)},
      ${wire().userId}::text, b.user_id, 'created_at', ${wireTime(sql`b.created_at`)},
      'erased_at', ${wireTime(sql`b.erased_at`)})::text
    FROM builds b
    WHERE ${allOf(
      sql`b.project_id = ${project_id}`,
      isOneOf(sql`b.id::text`, filter?.build_ids),
      isOneOf(sql`b.recipe_name`, filter?.recipe_names),
      isOneOf(sql`b.recipe_digest`, filter?.recipe_digests),
      isOneOf(sql`b.digest`, filter?.digests),
      typeof filter?.is_erased === 'boolean' &&
        (filter.is_erased ? sql`b.erased_at IS NOT NULL` : sql`b.erased_at IS NULL`),
    )}
    ${orderBy(FIELDS, sorts, 'id')}
    ${page({ limit, offset })}`;
}

/**
 * Selects the builds that were made of calls and are not erased yet. For purged calls: the builds that are not marked
 * as tainted yet. `calls` selects ids.
 */
export const buildsOfCalls = (projectId: string, calls: Sql, isPurge: boolean) => sql`
  SELECT b.id FROM builds b
  WHERE b.project_id = ${projectId} AND ${isPurge ? sql`b.tainted_at` : sql`b.erased_at`} IS NULL AND b.id IN (
    SELECT i.build_id FROM build_inputs i
    WHERE i.project_id = ${projectId} AND i.kind = 'call' AND i.id IN (${calls}))`;

export const buildsForget = (projectId: string, builds: readonly string[]) => sql<{ id: string }>`
  UPDATE builds SET erased_at = statement_timestamp()
  WHERE project_id = ${projectId} AND id = ANY(${builds}::uuid[]) AND erased_at IS NULL RETURNING id`;

/** True for a call without a payload. The sizes come first: PostgreSQL knows them without reading the documents. */
const IS_EMPTY = sql`CASE WHEN c.output IS NULL AND pg_column_size(c.inputs) < 16 AND pg_column_size(c.attributes) < 16
  THEN c.inputs::text = '{}' AND c.attributes::text = '{}' ELSE false END`;

/** Finds a call of a build that was deleted, or lost its payload, during the build. */
export const goneCalls = (projectId: string, buildId: string) => sql<{ id: string }>`
  SELECT i.id FROM build_inputs i LEFT JOIN calls c ON c.project_id = ${projectId} AND c.id = i.id
  WHERE i.project_id = ${projectId} AND i.build_id = ${buildId} AND i.kind = 'call'
    AND (c.id IS NULL OR c.deleted_at IS NOT NULL OR CASE WHEN ${IS_EMPTY} THEN i.sha256 <> ${textsSha256()} END)
  LIMIT 1`;

export const chunksForget = (projectId: string, builds: readonly string[]) =>
  sql`DELETE FROM build_chunks WHERE project_id = ${projectId} AND build_id = ANY(${builds}::uuid[])`;

/** Marks the jobs of builds as erased. Returns the jobs and the log batches of their evaluation sides. */
export const jobsForget = (projectId: string, builds: readonly string[]) => sql<{
  job_id: string;
  log_batch_id: string | null;
}>`
  UPDATE build_jobs bj SET erased_at = statement_timestamp()
  WHERE bj.project_id = ${projectId} AND bj.build_id = ANY(${builds}::uuid[]) AND bj.erased_at IS NULL
  RETURNING bj.job_id, bj.log_batch_id`;

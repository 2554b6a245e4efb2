// SQL: values are JSON text, and publishing is one guarded statement.
import { perDialect, wire } from '../../platform/http/wire-names.js';
import { isAfter } from '../../platform/query/keyset.js';
import { lock, textLock } from '../../platform/database/advisory-locks.js';
import { column, type Columns, orderBy, page, select } from '../../platform/query/columns.js';
import { allOf, isOneOf, join, sql, type Sql } from '../../platform/query/sql.js';
import type { ObjectClass } from './object-class.js';
import type { ObjectReadDto, ObjectsFilterDto, ObjectsQueryDto } from './objects.dto.js';
import { versionSelector } from './version-selector.js';

/** Locks the versions of one object. */
const VERSIONS = textLock(0x6f626a73);

const NEVER = sql`FALSE`;
/** The versions that words can select, and which of them `latest` selects. */
const LIVE = { isMeant: sql`v.deleted_at IS NULL`, isLatest: sql`v.is_latest` };
const DELETED = { isMeant: sql`v.deleted_at IS NOT NULL`, isLatest: sql`TRUE` };

const versionColumns = perDialect((): Columns => ({
  project_id: column.text(sql`v.project_id`, { isNotNull: true }),
  object_id: column.text(sql`v.object_id`, { isNotNull: true }),
  created_at: column.time(sql`v.created_at`, { isNotNull: true }),
  digest: column.text(sql`v.digest`),
  version_index: column.number(sql`v.version_index`, { isNotNull: true, isInteger: true }),
  is_latest: column.number(sql`v.is_latest::int`),
  kind: column.text(sql`v.kind`),
  base_object_class: column.text(sql`v.base_object_class`),
  leaf_object_class: column.text(sql`v.leaf_object_class`),
  val: column.json(sql`v.val`, NEVER),
  deleted_at: column.time(sql`v.deleted_at`),
  [wire().userId]: column.text(sql`v.user_id`),
}));
const SIZE: Columns = { size_bytes: column.number(sql`v.size_bytes`) };
const labels = (projectId: string): Columns => ({
  tags: column.json(
    sql`to_json(ARRAY(SELECT t.tag FROM object_tags t
      WHERE t.project_id = ${projectId} AND t.object_id = v.object_id AND t.version_index = v.version_index ORDER BY t.tag))`,
    NEVER,
  ),
  aliases: column.json(
    sql`to_json(CASE WHEN v.is_latest THEN ARRAY['latest'] ELSE '{}' END || ARRAY(SELECT a.alias FROM object_aliases a
      WHERE a.project_id = ${projectId} AND a.object_id = v.object_id AND a.version_index = v.version_index ORDER BY a.alias))`,
    NEVER,
  ),
});

interface VersionFields {
  metadata_only?: boolean | null;
  include_storage_size?: boolean | null;
  include_tags_and_aliases?: boolean | null;
}

function selectedColumns(projectId: string, parts: VersionFields): Sql {
  const all = {
    ...versionColumns(),
    ...(parts.metadata_only && { val: column.json(sql`'{}'::json`, NEVER) }),
    ...(parts.include_storage_size && SIZE),
    ...(parts.include_tags_and_aliases && labels(projectId)),
  };
  return select(all, Object.keys(all));
}

/**
 * Reads live versions as JSON texts, the oldest first. Each order is that of an index, or begins with its columns, so
 * that PostgreSQL sorts only within ties. A test pins the plans, which docs/adr/0020-objects.md shows.
 */
export function objectsQuery(query: ObjectsQueryDto): Sql {
  const given = query.sort_by?.length
    ? query.sort_by
    : [{ field: 'created_at', direction: 'asc' } as const];
  const sorts = [...given, { field: 'version_index', direction: 'asc' } as const];
  const order = { columns: versionColumns(), sorts, tieBreaker: 'object_id' };
  return sql`
    SELECT row_to_json(o)::text FROM (
      SELECT ${selectedColumns(query.project_id, query)} FROM object_versions v
      WHERE ${allOf(sql`v.project_id = ${query.project_id}`, filterCondition(query.project_id, query.filter ?? {}), isAfter(query.after, order))}
      ${orderBy(versionColumns(), sorts, 'object_id')} ${page(query)}) o`;
}

function filterCondition(projectId: string, filter: ObjectsFilterDto): Sql {
  return allOf(
    filter.latest_only ? sql`v.is_latest` : sql`v.deleted_at IS NULL`,
    isOneOf(sql`v.object_id`, filter.object_ids),
    filter.object_id_contains &&
      sql`strpos(lower(v.object_id), lower(${filter.object_id_contains}::text COLLATE "C")) > 0`,
    filter.is_op === true && sql`v.kind = 'op'`,
    filter.is_op === false && sql`v.kind <> 'op'`,
    isOneOf(sql`v.base_object_class`, filter.base_object_classes),
    (filter.exclude_base_object_classes?.length ?? 0) > 0 &&
      sql`(v.base_object_class <> ALL(${filter.exclude_base_object_classes}) OR v.base_object_class IS NULL)`,
    isOneOf(sql`v.leaf_object_class`, filter.leaf_object_classes),
    hasTag(projectId, filter.tags),
    hasAlias(projectId, filter.aliases),
  );
}

/**
 * A subquery per version: EXISTS is planned as a join, which may compare every version with every tag of the project.
 */
const hasTag = (projectId: string, tags: readonly string[] | null | undefined) =>
  tags?.length
    ? sql`(SELECT TRUE FROM object_tags t WHERE t.project_id = ${projectId} AND t.object_id = v.object_id
        AND t.version_index = v.version_index AND t.tag = ANY(${tags}::text[]) LIMIT 1)`
    : null;

const hasAlias = (projectId: string, aliases: readonly string[] | null | undefined) =>
  aliases?.length
    ? sql`(${aliases.includes('latest') ? sql`v.is_latest` : NEVER} OR EXISTS (
        SELECT FROM object_aliases a WHERE a.project_id = ${projectId} AND a.object_id = v.object_id
          AND a.version_index = v.version_index AND a.alias = ANY(${aliases}::text[])))`
    : null;

export function isSelectedVersion(projectId: string, objectId: string, word: string): Sql {
  const means = versionSelector(word);
  if (means === 'latest') return sql`v.is_latest`;
  if ('index' in means) return sql`v.version_index = ${means.index}`;
  if ('digest' in means) return sql`v.digest = ${means.digest}`;
  return sql`v.version_index = (SELECT a.version_index FROM object_aliases a
    WHERE a.project_id = ${projectId} AND a.object_id = ${objectId} AND a.alias = ${means.alias})`;
}

interface ResolvedVersion extends VersionIndex {
  object_id: string;
  word: string;
  size_bytes: number;
}

/**
 * Reads the versions that words without aliases select, each for the object named beside it. Each kind of word has its
 * own part: one condition for all would read all versions of a name for each word.
 */
function resolvedVersions(
  projectId: string,
  names: readonly string[],
  words: readonly string[],
  { isMeant, isLatest }: typeof LIVE,
): Sql<ResolvedVersion> {
  const said = words.map((word, i) => ({ name: names[i]!, word, means: versionSelector(word) }));
  const of = (kind: string) => {
    const list = said.filter(({ means }) =>
      typeof means === 'string' ? means === kind : kind in means,
    );
    return sql`unnest(${list.map(({ name }) => name)}::text[], ${list.map(({ word }) => word)}::text[]) AS r (object_id, word)`;
  };
  const version = sql`v.project_id = ${projectId} AND v.object_id = r.object_id AND ${isMeant}`;
  const part = (from: Sql) =>
    sql<ResolvedVersion>`SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM ${from}`;
  return join(
    [
      part(sql`${of('digest')} JOIN object_versions v ON ${version} AND v.digest = r.word`),
      part(
        sql`${of('index')} JOIN object_versions v ON ${version} AND v.version_index = substr(r.word, 2)::int`,
      ),
      part(sql`${of('latest')} JOIN object_versions v ON ${version} AND ${isLatest}`),
    ],
    ' UNION ALL ',
  );
}

const isOfObject = (projectId: string, objectId: string) =>
  sql`v.project_id = ${projectId} AND v.object_id = ${objectId}`;

/** Reads one live version as JSON, unless it exceeds `maxBytes`. */
export const versionQuery = (
  { project_id: projectId, object_id: objectId, digest: word, ...parts }: ObjectReadDto,
  maxBytes: number,
) => sql<{ json: string }>`
  SELECT row_to_json(o)::text AS json FROM (
    SELECT ${selectedColumns(projectId, parts)} FROM object_versions v
    WHERE ${isOfObject(projectId, objectId)} AND v.deleted_at IS NULL AND ${isSelectedVersion(projectId, objectId, word)}
      AND v.size_bytes <= ${maxBytes}::bigint) o`;

export interface VersionIndex {
  version_index: number;
}

/** Reads the value of one live version as text. Null when it exceeds `bytes`; it is not read then. */
export const smallValueQuery = (
  projectId: string,
  objectId: string,
  word: string,
  bytes: number,
) => sql<{ val: string | null }>`
  SELECT CASE WHEN v.size_bytes <= ${bytes} THEN v.val::text END AS val FROM object_versions v
  WHERE ${isOfObject(projectId, objectId)} AND v.deleted_at IS NULL AND ${isSelectedVersion(projectId, objectId, word)}`;

/**
 * Reads the time at which a version was deleted that `versionQuery` did not find. `latest` selects the last of all
 * versions.
 */
export const deletedAtQuery = (
  projectId: string,
  objectId: string,
  word: string,
): Sql<VersionIndex & { deleted_at: string }> => sql`
  SELECT to_json(o)->>'deleted_at' AS deleted_at, o.version_index FROM (
    SELECT ${select(versionColumns(), ['deleted_at', 'version_index'])} FROM object_versions v
    WHERE ${isOfObject(projectId, objectId)} AND v.deleted_at IS NOT NULL
      AND ${word === 'latest' ? sql`TRUE` : isSelectedVersion(projectId, objectId, word)}
    ORDER BY v.version_index DESC LIMIT 1) o`;

/**
 * Locks a name. A transaction that publishes or deletes its versions holds the lock until it ends, and takes no other
 * lock of this kind. Later statements see what the previous holder committed. docs/adr/0020-objects.md explains why it
 * is no row lock.
 */
export const lockQuery = (projectId: string, objectId: string): Sql =>
  lock(VERSIONS, `${projectId}\n${objectId}`);

/** Reads the latest version if it has the digest. */
export const latestIndexQuery = (
  projectId: string,
  objectId: string,
  digest: string,
) => sql<VersionIndex>`
  SELECT v.version_index FROM object_versions v
  WHERE ${isOfObject(projectId, objectId)} AND v.is_latest AND v.digest = ${digest}`;

export const demoteQuery = (projectId: string, objectId: string) => sql`
  UPDATE object_versions v SET is_latest = false WHERE ${isOfObject(projectId, objectId)} AND v.is_latest`;

export interface NewObjectVersion {
  projectId: string;
  objectId: string;
  digest: string;
  objectClass: ObjectClass;
  userId: string;
  /** JSON text. */
  val: string;
}

/** Makes the live version with the digest, or a new one, the latest. The previous one must be demoted already. */
export const publishQuery = (version: NewObjectVersion) => sql<VersionIndex>`
  INSERT INTO object_versions AS v (project_id, object_id, version_index, digest, created_at, is_latest, kind,
    base_object_class, leaf_object_class, user_id, size_bytes, val)
  SELECT ${version.projectId}, ${version.objectId},
    coalesce((SELECT max(v.version_index) FROM object_versions v WHERE ${isOfObject(version.projectId, version.objectId)}) + 1, 0),
    ${version.digest}, statement_timestamp(), true, ${version.objectClass.kind}, ${version.objectClass.base},
    ${version.objectClass.leaf}, ${version.userId}, ${Buffer.byteLength(version.val)}::int, ${version.val}::json
  ON CONFLICT (project_id, object_id, digest) WHERE deleted_at IS NULL DO UPDATE SET is_latest = true
  RETURNING v.version_index`;

/** Deletes live versions: all, or those with the indexes. */
export const deleteQuery = (
  projectId: string,
  objectId: string,
  indexes: number[] | null,
) => sql<VersionIndex>`
  UPDATE object_versions v SET deleted_at = statement_timestamp(), is_latest = false
  WHERE ${isOfObject(projectId, objectId)} AND v.deleted_at IS NULL
    AND ${indexes ? sql`v.version_index = ANY(${indexes}::int[])` : sql`TRUE`}
  RETURNING v.version_index`;

/** Makes the newest live version the latest when no version is. */
export const promoteQuery = (projectId: string, objectId: string) => sql`
  UPDATE object_versions SET is_latest = true
  WHERE project_id = ${projectId} AND object_id = ${objectId} AND version_index = (
    SELECT v.version_index FROM object_versions v
    WHERE ${isOfObject(projectId, objectId)} AND v.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM object_versions v WHERE ${isOfObject(projectId, objectId)} AND v.is_latest)
    ORDER BY v.version_index DESC LIMIT 1)`;

/** Reads the live versions that words select, each for the object named beside it. */
export const referredQuery = (
  projectId: string,
  names: readonly string[],
  words: readonly string[],
): Sql<ResolvedVersion> => resolvedVersions(projectId, names, words, LIVE);

/** Reads the names and words whose version is deleted. */
export const deletedQuery = (
  projectId: string,
  names: readonly string[],
  words: readonly string[],
): Sql<{ object_id: string; word: string }> =>
  sql`SELECT DISTINCT d.object_id, d.word FROM (${resolvedVersions(projectId, names, words, DELETED)}) d`;

export const valuesQuery = (projectId: string, names: string[], indexes: number[]) => sql<{
  object_id: string;
  version_index: number;
  val: string;
}>`
  SELECT v.object_id, v.version_index, v.val::text AS val
  FROM unnest(${names}::text[], ${indexes}::int[]) AS r(object_id, version_index)
  JOIN object_versions v ON v.project_id = ${projectId} AND v.object_id = r.object_id
    AND v.version_index = r.version_index`;

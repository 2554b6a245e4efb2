import { identifier, sql, type Sql } from '../../../platform/query/sql.js';
import type { ObjectTag } from './object-tag.entity.js';

// SQL: up to a thousand labels are bound as one value, and distinct names are found by steps through an index.

export type ObjectVersionKey = Pick<ObjectTag, 'projectId' | 'objectId' | 'versionIndex'>;

export const tagsInsert = (
  { projectId, objectId, versionIndex }: ObjectVersionKey,
  tags: string[],
) => sql`
  INSERT INTO object_tags (project_id, object_id, version_index, tag)
  SELECT DISTINCT ${projectId}, ${objectId}, ${versionIndex}::int, t.tag FROM unnest(${tags}::text[]) AS t (tag)
  ON CONFLICT DO NOTHING`;

/** Sets aliases of a version. Other versions of the object lose them. */
export const aliasesUpsert = (
  { projectId, objectId, versionIndex }: ObjectVersionKey,
  aliases: string[],
) => sql`
  INSERT INTO object_aliases (project_id, object_id, alias, version_index)
  SELECT DISTINCT ${projectId}, ${objectId}, t.alias, ${versionIndex}::int FROM unnest(${aliases}::text[]) AS t (alias)
  ON CONFLICT (project_id, object_id, alias) DO UPDATE SET version_index = excluded.version_index`;

/** Reads the versions of aliases. Each alias belongs to the object named beside it. */
export const aliasedVersions = (
  projectId: string,
  aliases: readonly { name: string; word: string }[],
) => sql<{ object_id: string; alias: string; version_index: number }>`
  SELECT a.object_id, a.alias, a.version_index
  FROM unnest(${aliases.map(({ name }) => name)}::text[], ${aliases.map(({ word }) => word)}::text[]) AS r (object_id, alias)
  JOIN object_aliases a ON a.project_id = ${projectId} AND a.object_id = r.object_id AND a.alias = r.alias`;

export const labelsDelete = (projectId: string, objectId: string, indexes: number[]) => sql`
  WITH tags AS (
    DELETE FROM object_tags
    WHERE project_id = ${projectId} AND object_id = ${objectId} AND version_index = ANY(${indexes}::int[])
  )
  DELETE FROM object_aliases
  WHERE project_id = ${projectId} AND object_id = ${objectId} AND version_index = ANY(${indexes}::int[])`;

/** Reads the distinct tags of a project as JSON texts, sorted. */
export const tagsQuery = (projectId: string): Sql => namesQuery(projectId, 'object_tags', 'tag');

/** Reads the distinct aliases of a project as JSON texts, sorted. */
export const aliasesQuery = (projectId: string): Sql =>
  namesQuery(projectId, 'object_aliases', 'alias');

/** Reads distinct names with one index look-up for each name, however many versions have it. */
function namesQuery(projectId: string, table: string, column: string): Sql {
  const name = identifier(column);
  const least = (isBehind: Sql) =>
    sql`SELECT min(t.${name}) AS name FROM ${identifier(table)} t WHERE t.project_id = ${projectId} AND ${isBehind}`;
  return sql`
    WITH RECURSIVE found AS (
      ${least(sql`TRUE`)}
      UNION ALL
      SELECT (${least(sql`t.${name} > f.name`)}) FROM found f WHERE f.name IS NOT NULL)
    SELECT to_json(name)::text FROM found WHERE name IS NOT NULL`;
}

// SQL: words select versions, which are erased in batches.
import { sql } from '../../../platform/query/sql.js';

const isOfObject = (projectId: string, objectId: string) =>
  sql`v.project_id = ${projectId} AND v.object_id = ${objectId}`;

interface MatchedVersion {
  word?: string;
  version_index: number | null;
}

/**
 * Reads the versions that words select, live or deleted. A digest may select several. A word without a version has one
 * row with null.
 */
export const matchedVersions = (
  projectId: string,
  objectId: string,
  words: string[],
) => sql<MatchedVersion>`
  SELECT w.word, v.version_index FROM unnest(${words}::text[]) AS w (word)
  LEFT JOIN object_versions v ON ${isOfObject(projectId, objectId)}
    AND (v.digest = w.word OR 'v' || v.version_index = w.word OR (w.word = 'latest' AND v.is_latest)
      OR v.version_index = (SELECT a.version_index FROM object_aliases a
        WHERE a.project_id = ${projectId} AND a.object_id = ${objectId} AND a.alias = w.word))`;

export const allVersions = (projectId: string, objectId: string) =>
  sql<MatchedVersion>`SELECT v.version_index FROM object_versions v WHERE ${isOfObject(projectId, objectId)}`;

/** Reads the digests that no version has any more after these versions are erased. */
export const lastDigests = (projectId: string, objectId: string, indexes: number[]) => sql<{
  digest: string;
}>`
  SELECT DISTINCT v.digest FROM object_versions v
  WHERE ${isOfObject(projectId, objectId)} AND v.version_index = ANY(${indexes}::int[])
    AND NOT EXISTS (SELECT FROM object_versions o WHERE o.project_id = ${projectId} AND o.object_id = ${objectId}
      AND o.digest = v.digest AND o.version_index <> ALL(${indexes}::int[]))`;

export const versionsErase = (projectId: string, objectId: string, indexes: number[]) => sql`
  DELETE FROM object_versions v
  WHERE ${isOfObject(projectId, objectId)} AND v.version_index = ANY(${indexes}::int[]) RETURNING 1`;

import { lock, projectLock } from '../../../platform/database/advisory-locks.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { textArray } from '../../../platform/query/binary-array.js';
import { sql, type Sql } from '../../../platform/query/sql.js';

/** Lock of a project, held while folded spans are replaced as parents of calls. */
const UNFOLDING = projectLock(0x666f6c64);

export const unfoldingLock = (projectId: string) => lock(UNFOLDING, projectId);

export interface FoldedSpanKey {
  id: string;
  parentId: string | null;
}

export const foldQuery = (projectId: string, spans: readonly FoldedSpanKey[]): Sql => sql`
  INSERT INTO folded_spans AS f (project_id, id, parent_id)
  SELECT ${projectId}::text, w.id, w.parent_id
  FROM unnest(${textArray(spans.map(({ id }) => id))}::text[], ${textArray(spans.map(({ parentId }) => parentId))}::text[]) AS w (id, parent_id)
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET parent_id = excluded.parent_id`;

export const hasFoldedQuery = (projectId: string): Sql<{ has_folded: boolean }> => sql`
  SELECT EXISTS (SELECT FROM folded_spans f WHERE f.project_id = ${projectId}) AS has_folded`;

/** Maximum number of nested folded spans that are skipped in one run. */
const MAX_LEVELS = 200;

/**
 * Moves calls of the traces that are below folded spans. The new parent is the nearest span above that is not folded.
 * It may not be stored yet; if it is folded itself when it arrives, a later run skips it.
 */
export const unfoldQuery = (projectId: string, traceIds: readonly string[]) => sql<{
  id: string;
}>`
  WITH RECURSIVE found AS MATERIALIZED (
    SELECT c.id, c.parent_id FROM unnest(${traceIds}::text[]) t (id) ${lookedUp(
      sql`SELECT c.id, c.parent_id FROM calls c
        WHERE c.project_id = ${projectId} AND c.trace_id = t.id AND c.parent_id IS NOT NULL AND c.otel_dump IS NOT NULL`,
      'c',
    )}
  ), climb AS (
    SELECT DISTINCT f.parent_id AS first, f.parent_id AS at, 0 AS level FROM found f
    UNION ALL
    SELECT k.first, s.parent_id, k.level + 1 FROM climb k ${lookedUp(
      sql`SELECT s.parent_id FROM folded_spans s WHERE s.project_id = ${projectId} AND s.id = k.at`,
      's',
    )} WHERE k.level < ${MAX_LEVELS}::int
  ), tops AS MATERIALIZED (
    SELECT DISTINCT ON (first) first, at, level FROM climb ORDER BY first, level DESC)
  UPDATE calls c SET parent_id = t.at, is_orphan = t.at IS NOT NULL
  FROM tops t, found f
  WHERE t.level > 0 AND f.parent_id = t.first AND c.project_id = ${projectId} AND c.id = f.id AND c.parent_id = t.first RETURNING c.id`;

export const forgetFolded = sql`DELETE FROM folded_spans WHERE folded_at < now() - interval '1 day'`;

// SQL: ingest. Calls whose parents are missing.
import { lookedUp } from '../../../platform/query/plans.js';
import { textArray } from '../../../platform/query/binary-array.js';
import { Parameter, prepared, type Prepared, sql } from '../../../platform/query/sql.js';

/** Where a call stands that is stored. One without an op has not started. */
export interface StoredPlace {
  id: string;
  trace_id: string | null;
  parent_id: string | null;
  op_name: string | null;
  is_deleted: boolean;
}

const PLACES = prepared<StoredPlace>(
  'calls.places',
  sql`SELECT c.* FROM unnest(${null}::text[]) t (id) ${lookedUp(
    sql`SELECT id, trace_id, parent_id, op_name, deleted_at IS NOT NULL AS is_deleted
      FROM calls WHERE project_id = ${new Parameter(null)}::text AND id = t.id`,
    'c',
  )}`,
);

/** Looks calls up by their keys. */
export const placesQuery = (projectId: string, ids: readonly string[]): Prepared<StoredPlace> => ({
  ...PLACES,
  values: [textArray(ids), projectId],
});

/** So many calls are marked at once when their parents go. */
export const MAX_MARKED = 5000;

/** Marks calls below these, which go, as orphans; those that go themselves are left out. Answers at most `MAX_MARKED`. */
export const childrenMark = (projectId: string, ids: readonly string[]) => sql<{
  id: string;
  trace_id: string | null;
}>`
  WITH found AS MATERIALIZED (
    SELECT c.id FROM unnest(${ids}::text[]) t (id) ${lookedUp(
      sql`SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.parent_id = t.id AND NOT c.is_orphan`,
      'c',
    )} WHERE c.id NOT IN (SELECT unnest(${ids}::text[])) LIMIT ${MAX_MARKED}::bigint),
  locked AS MATERIALIZED (
    SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM found)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET is_orphan = true
  WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM locked)) RETURNING c.id, c.trace_id`;

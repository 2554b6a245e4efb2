import { sql, type Sql } from '../../../platform/query/sql.js';
import { lookedUp } from '../../../platform/query/plans.js';

/**
 * Selects those of the traces in which a span below the root names a thread. Most requests find none, and an UPDATE
 * runs its triggers even then.
 */
export const threadedTracesQuery = (
  projectId: string,
  traceIds: readonly string[],
): Sql<{ trace_id: string }> =>
  sql`SELECT trace_id FROM skein_threaded(${projectId}, ${traceIds}::text[]) t (trace_id)`;

/** Matches a root that came as a span and names no thread. */
const IS_OPEN_ROOT = sql`num_nulls(c.parent_id, c.thread_id) = 2 AND c.otel_dump IS NOT NULL AND c.deleted_at IS NULL`;

/**
 * Makes the root of a trace the turn of the thread that a span below it names, if the root names none. If several
 * threads are named, the one that began first is used. `traceIds` must not be empty. Only calls that came as spans
 * change. Rows are locked in the order of their ids, as in the upsert.
 * Each trace and each root is looked up on its own: a join may compare every trace with every root of the project.
 * `num_nulls` prevents the use of the partial indexes of roots and threads. In a table that was never analysed,
 * PostgreSQL expects few rows in them, and would read those of the whole project. The UPDATE joins nothing for the same
 * reason.
 */
export const turnRootsQuery = (projectId: string, traceIds: readonly string[]) => sql`
  WITH threads AS (
    SELECT DISTINCT ON (c.trace_id) c.trace_id, c.thread_id
    FROM unnest(${traceIds}::text[]) t (trace_id) ${lookedUp(
      sql`SELECT trace_id, thread_id, started_at, id FROM calls
      WHERE project_id = ${projectId} AND trace_id = t.trace_id AND num_nulls(parent_id, thread_id) = 0 AND deleted_at IS NULL`,
      'c',
    )}
    ORDER BY c.trace_id, c.started_at, c.id),
  found AS MATERIALIZED (
    SELECT c.id, t.thread_id FROM threads t ${lookedUp(
      sql`SELECT id FROM calls c WHERE project_id = ${projectId} AND trace_id = t.trace_id AND ${IS_OPEN_ROOT}`,
      'c',
    )}
    ORDER BY c.id COLLATE "C"),
  roots AS MATERIALIZED (
    SELECT c.id, f.thread_id FROM found f CROSS JOIN LATERAL (
      SELECT id FROM calls c WHERE project_id = ${projectId} AND id = f.id AND ${IS_OPEN_ROOT} FOR UPDATE) c)
  UPDATE calls c SET thread_id = (SELECT jsonb_object_agg(r.id, r.thread_id) FROM roots r) ->> c.id, turn_id = c.id
  WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM roots))`;

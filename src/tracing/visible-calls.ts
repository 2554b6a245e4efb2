import { lookedUp, unseen } from '../platform/query/plans.js';
import { sql, type Sql } from '../platform/query/sql.js';

/** Of the row `c` of `calls`: it has started, and is not deleted. Written as the partial indexes of the table write it. */
const isVisible = sql`c.op_name IS NOT NULL AND c.deleted_at IS NULL`;

/** The same, in a project. */
export const visibleIn = (projectId: string) => sql`c.project_id = ${projectId} AND ${isVisible}`;

/** Calls of a circle of parents at most: each call of a longer one counts as one whose parent is stored. */
const MAX_CIRCLE = 100;

/** The visible call with an id in the trace of the call `c`. */
const visibleInTrace = (
  projectId: string,
  id: Sql,
) => sql`FROM calls p WHERE p.project_id = ${projectId} AND p.id = ${id}
  AND ${unseen(sql`p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL`)}`;

/** Whether the call `c` is its own ancestor, and began before the other orphans of the circle. */
const isCycleHead = (projectId: string) => sql`(
  WITH RECURSIVE above AS (
    SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level ${visibleInTrace(projectId, sql`c.parent_id`)}
    UNION ALL
    SELECT p.*, a.level + 1 FROM above a ${lookedUp(
      sql`SELECT p.id, p.parent_id, p.started_at, p.is_orphan ${visibleInTrace(projectId, sql`a.parent_id`)}`,
      'p',
    )} WHERE a.id <> c.id AND a.level < ${MAX_CIRCLE}::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)`;

/**
 * The call `c` is a root: it names no parent, or one that is not here, which is to say not visible in its trace. `is_orphan` holds of
 * each call whose parent is not here, and of some whose parent came later: so the parent is looked up, for those alone. Of calls that
 * are each other's parents one is a root (docs/adr/0018-lists-of-calls.md). The first condition is that of the indexes of roots.
 */
export const isRoot = (projectId: string) =>
  sql`((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ${hasNoParent(projectId)}))`;

/** The call `c` names a parent, and is a root. */
export const isTopOrphan = (projectId: string) =>
  sql`(c.is_orphan AND c.parent_id IS NOT NULL AND ${hasNoParent(projectId)})`;

const hasNoParent = (projectId: string) =>
  sql`((SELECT TRUE ${visibleInTrace(projectId, sql`c.parent_id`)} LIMIT 1) IS NOT TRUE OR ${isCycleHead(projectId)})`;

/** The call `c` has ended, and not before it started: clocks of clients differ. Else nobody knows how long it took. */
export const IS_TIMED = sql`c.ended_at >= c.started_at`;

/** Milliseconds with fractions from the start to the end of a timed call `c`. `calls_root_latency_idx` is ordered by it. */
export const TIMED_MS = sql`(extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8`;

/** The duration of the call `c`; null while it runs, and where it ended before it started. */
export const LATENCY_MS = sql`(CASE WHEN ${IS_TIMED} THEN ${TIMED_MS} END)`;

/** It is a turn of a thread, if it is visible: docs/adr/0030-thread-statistics.md. */
export const isTurn = sql`c.id = c.turn_id AND c.thread_id <> ''`;

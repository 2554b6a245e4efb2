import { lookedUp, unseen } from '../platform/query/plans.js';
import { identifier, join, sql, type Sql } from '../platform/query/sql.js';
import type { CallColumnName } from './calls/call.entity.js';

export const columnsOfCall = (names: readonly CallColumnName[]) =>
  join(names.map((name) => sql`c.${identifier(name)}`));

/** Matches a row `c` of `calls` that has started and is not deleted. Spelled as in the partial indexes of the table. */
const isVisible = sql`c.op_name IS NOT NULL AND c.deleted_at IS NULL`;

/** Matches visible calls `c` of a project. */
export const visibleIn = (projectId: string) => sql`c.project_id = ${projectId} AND ${isVisible}`;

/**
 * Maximum number of calls in a circle of parents. In a longer circle, each call counts as a call with a stored parent.
 */
const MAX_CIRCLE = 100;

const visibleInTrace = (
  projectId: string,
  id: Sql,
) => sql`FROM calls p WHERE p.project_id = ${projectId} AND p.id = ${id}
  AND ${unseen(sql`p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL`)}`;

/** True if the call `c` is its own ancestor and began before the other orphans of the circle. */
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
 * Matches a call `c` that is a root: it names no parent, or its parent is not visible in its trace. `is_orphan` is true
 * for each call without a visible parent, and for some calls whose parent arrived later. So the parent is looked up,
 * but only for calls with `is_orphan`. If calls are each other's parents, one of them is a root
 * (docs/adr/0018-lists-of-calls.md). The first condition is the condition of the indexes of roots.
 */
export const isRoot = (projectId: string) =>
  sql`((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ${hasNoParent(projectId)}))`;

/** Matches a root `c` that names a parent. */
export const isTopOrphan = (projectId: string) =>
  sql`(c.is_orphan AND c.parent_id IS NOT NULL AND ${hasNoParent(projectId)})`;

const hasNoParent = (projectId: string) =>
  sql`((SELECT TRUE ${visibleInTrace(projectId, sql`c.parent_id`)} LIMIT 1) IS NOT TRUE OR ${isCycleHead(projectId)})`;

/**
 * Matches a call `c` that ended at or after its start. Clocks of clients differ: if the end is before the start, the
 * duration is unknown.
 */
export const IS_TIMED = sql`c.ended_at >= c.started_at`;

/** Duration of a timed call `c` in milliseconds, with fractions. `calls_root_latency_idx` is ordered by it. */
export const TIMED_MS = sql`(extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8`;

/** Duration of the call `c` in milliseconds. Null while it runs, and if it ended before it started. */
export const LATENCY_MS = sql`(CASE WHEN ${IS_TIMED} THEN ${TIMED_MS} END)`;

/** Matches a turn of a thread (docs/adr/0030-thread-statistics.md). Does not check that the call is visible. */
export const isTurn = sql`c.id = c.turn_id AND c.thread_id <> ''`;

// SQL: a hold names a trace or a thread, and so any number of calls and of feedback.
import type { PartHold } from '../platform/audit/legal-holds.js';
import { spelledThreadIds } from '../platform/http/refs.js';
import { lookedUp, unseen } from '../platform/query/plans.js';
import { join, sql, type Sql } from '../platform/query/sql.js';
import { refPart } from './feedback-names.query.js';

/** Selects the held traces. A hold of a thread holds all its traces, since calls below a turn need not name it. */
const heldTraces = (projectId: string, holds: readonly PartHold[]): Sql =>
  join(
    holds.map(({ traceId, threadId }) =>
      threadId === null
        ? sql`SELECT ${traceId}::text COLLATE "C" AS trace_id`
        : sql`(SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = ${projectId} AND (t.thread_id || '') = ${threadId})`,
    ),
    ' UNION ALL ',
  );

/** Returns a question for each hold: whether it holds started calls `c` that match the condition. */
export const callsOfHold = (projectId: string, condition: Sql) => (hold: PartHold) =>
  sql<{ is_hit: boolean }>`
  SELECT EXISTS (SELECT FROM (${heldTraces(projectId, [hold])}) h ${lookedUp(
    sql`SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.trace_id = h.trace_id
      AND ${unseen(sql`c.op_name IS NOT NULL AND (${condition})`)}`,
    'held',
  )}) AS is_hit`;

/** Selects those of the calls that are held. A row without a start has no trace yet, so any hold holds it. */
export const heldAmong = (
  projectId: string,
  ids: readonly string[],
  holds: readonly PartHold[],
) => sql<{ id: string }>`
  SELECT c.id FROM unnest(${ids}::text[]) w (id) ${lookedUp(
    sql`SELECT c.id, c.trace_id, c.op_name FROM calls c WHERE c.project_id = ${projectId} AND c.id = w.id`,
    'c',
  )}
  WHERE c.op_name IS NULL OR c.trace_id IN (${heldTraces(projectId, holds)})`;

/**
 * Matches feedback `f` on a held call, on a part of one, or on a held turn or thread. Never NULL. A score of Langfuse
 * names its trace in the place of a call while the root is not stored.
 */
export function isHeldFeedback(projectId: string, holds: readonly PartHold[]): Sql {
  if (holds.length === 0) return sql`FALSE`;
  const threads = holds.flatMap(({ threadId }) =>
    threadId === null ? [] : spelledThreadIds(threadId),
  );
  const trace = sql`coalesce((SELECT c.trace_id FROM calls c WHERE c.project_id = ${projectId} AND c.id = ${refPart(7)}), ${refPart(7)})`;
  return sql`(CASE
    WHEN ${refPart(4)} || '/' || ${refPart(5)} <> ${projectId} THEN FALSE
    WHEN ${refPart(6)} IN ('call', 'agent_span') THEN ${trace} IN (${heldTraces(projectId, holds)})
    WHEN ${refPart(6)} = 'agent_turn' THEN ${refPart(7)} IN (${heldTraces(projectId, holds)})
    WHEN ${refPart(6)} = 'agent_conversation' THEN ${refPart(7)} = ANY(${threads}::text[])
    END IS TRUE)`;
}

/** Returns a question for each hold: whether it holds feedback among `rows`, which are `f`. */
export const feedbackOfHold = (projectId: string, rows: Sql) => (hold: PartHold) =>
  sql<{ is_hit: boolean }>`
  SELECT EXISTS (SELECT FROM ${rows} AND ${isHeldFeedback(projectId, [hold])}) AS is_hit`;

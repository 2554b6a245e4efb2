import { textLock, lock } from '../../../platform/database/advisory-locks.js';
import { textArray } from '../../../platform/query/binary-array.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import { AGENT_EVENTS, AGENT_SPANS, PROMPTS } from '../../conventions/agent-events.js';
import { columnsOfCall } from '../../visible-calls.js';
import { type AgentSpan, EVENT_COLUMNS, type EventCall, type SettledCall } from './agent-turns.js';

/** Advisory lock of one session of a coding agent, held while the turns of its calls are computed. */
const SESSION = textLock(0x74757273);

export const sessionLock = (projectId: string, session: string) =>
  lock(SESSION, `${projectId}\n${session}`);

const MAX_CALLS = 20_000;

const microseconds = (time: Sql) => sql`(extract(epoch FROM ${time}) * 1000000)::bigint::text`;

const IS_PROMPT = sql`p.op_name = ANY(${PROMPTS}::text[])`;

/**
 * Selects events of a session, ordered by start. They begin with the last prompt before `from`, or with an earlier
 * prompt that an event after `from` names.
 */
export const sessionCalls = (
  projectId: string,
  session: string,
  from: string,
): Sql<EventCall> => sql`
  WITH events AS MATERIALIZED (
    SELECT ${columnsOfCall(EVENT_COLUMNS)}, c.started_at, c.ended_at, c.usage IS NOT NULL AS counts
    FROM calls c
    WHERE c.project_id = ${projectId} AND (c.thread_id || '') = ${session} AND c.thread_id IS NOT NULL
      AND c.op_name = ANY(${Object.keys(AGENT_EVENTS)}::text[]) AND c.otel_dump IS NULL AND c.deleted_at IS NULL)
  SELECT ${columnsOfCall(EVENT_COLUMNS)}, c.counts,
    ${microseconds(sql`c.started_at`)} AS started_us, ${microseconds(sql`c.ended_at`)} AS ended_us
  FROM events c
  WHERE c.started_at >= least(
      coalesce((SELECT max(p.started_at) FROM events p WHERE p.started_at <= ${from}::timestamptz AND ${IS_PROMPT}), ${from}::timestamptz),
      (SELECT min(p.started_at) FROM events p WHERE p.id IN (
        SELECT n.turn_id FROM events n WHERE coalesce(n.ended_at, n.started_at) >= ${from}::timestamptz)))
  ORDER BY c.started_at, c.id LIMIT ${MAX_CALLS}::bigint`;

export const agentSpans = (
  projectId: string,
  traceIds: readonly string[],
  ids: readonly string[],
): Sql<AgentSpan> => sql`
  SELECT c.id, c.op_name, c.trace_id, c.usage IS NOT NULL AS counts FROM calls c
  WHERE c.project_id = ${projectId} AND c.trace_id = ANY(${traceIds}::text[]) AND c.otel_dump IS NOT NULL
    AND c.deleted_at IS NULL AND (c.op_name = ANY(${AGENT_SPANS}::text[]) OR c.id = ANY(${ids}::text[]))`;

export const sessionsOf = (
  projectId: string,
  traceIds: readonly string[],
): Sql<{ session: string; from: string }> => sql`
  SELECT c.thread_id AS session, to_char(min(c.started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "from"
  FROM calls c
  WHERE c.project_id = ${projectId} AND c.trace_id = ANY(${traceIds}::text[]) AND c.thread_id IS NOT NULL
    AND c.op_name = ANY(${Object.keys(AGENT_EVENTS)}::text[]) AND c.otel_dump IS NULL AND c.deleted_at IS NULL
  GROUP BY 1`;

/**
 * Formats microseconds since 1970 as an ISO timestamp. A distributed UPDATE cannot compute a timestamp from a column,
 * so the values are sent as texts.
 */
function instantOf(microseconds: string | null): string | null {
  if (microseconds === null) return null;
  const us = BigInt(microseconds);
  const rest = ((us % 1000n) + 1000n) % 1000n;
  return `${new Date(Number((us - rest) / 1000n)).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

export const settleQuery = (projectId: string, calls: readonly SettledCall[]): Sql => {
  const column = (values: readonly (string | null)[]) => sql`${textArray(values)}::text[]`;
  const times = (values: readonly (string | null)[]) =>
    sql`${column(values.map(instantOf))}::timestamptz[]`;
  return sql`
  WITH w AS MATERIALIZED (
    SELECT * FROM unnest(${column(calls.map(({ id }) => id))}, ${column(calls.map((c) => c.trace_id))},
      ${column(calls.map((c) => c.parent_id))}, ${column(calls.map((c) => c.turn_id))}, ${times(calls.map((c) => c.started_us))},
      ${times(calls.map((c) => c.ended_us))}, ${column(calls.map((c) => String(c.counts)))})
      AS w (id, trace_id, parent_id, turn_id, started_at, ended_at, counts) ORDER BY id COLLATE "C")
  UPDATE calls c SET trace_id = w.trace_id, parent_id = w.parent_id, turn_id = w.turn_id, started_at = w.started_at,
    ended_at = w.ended_at, usage = CASE WHEN w.counts = 'true' THEN c.usage END, is_orphan = false
  FROM w WHERE c.project_id = ${projectId} AND c.id = w.id`;
};

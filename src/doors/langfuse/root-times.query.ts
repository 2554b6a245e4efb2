// Plain SQL: this is part of ingestion.
import { jsonArray } from '../../platform/query/binary-array.js';
import { Parameter, sql, type Sql } from '../../platform/query/sql.js';
import { wireTime } from '../../platform/query/columns.js';
import { visibleIn } from '../../tracing/visible-calls.js';

/**
 * A call that is the root of its trace and has the trace's id. Times have the format of `wireTime`, so they can be
 * compared as text.
 */
export interface TraceRoot {
  id: string;
  started_at: string;
  ended_at: string | null;
  event_times: string | null;
}

export const traceRootsQuery = (projectId: string, traceIds: readonly string[]): Sql<TraceRoot> =>
  sql`
    SELECT c.id, ${wireTime(sql`c.started_at`)} AS started_at, ${wireTime(sql`c.ended_at`)} AS ended_at,
      c.event_times::text AS event_times
    FROM calls c WHERE ${visibleIn(projectId)} AND c.id = ANY(${traceIds}::text[])
      AND c.trace_id = c.id AND c.parent_id IS NULL`;

/** First start and last end of the calls below a trace's root. A running call ends at its start. */
export interface TraceTimes {
  trace_id: string;
  first: string;
  last: string;
}

export const traceTimesQuery = (
  projectId: string,
  calls: { traceIds: readonly string[] } | { ids: readonly string[] },
): Sql<TraceTimes> => sql`
  SELECT c.trace_id, ${wireTime(sql`min(c.started_at)`)} AS first,
    ${wireTime(sql`max(greatest(c.started_at, c.ended_at))`)} AS last
  FROM calls c WHERE ${visibleIn(projectId)} AND c.id <> c.trace_id
    AND ${'ids' in calls ? sql`c.id = ANY(${calls.ids}::text[])` : sql`c.trace_id = ANY(${calls.traceIds}::text[])`}
  GROUP BY c.trace_id`;

/**
 * Sets the times of at least one root. Without the list of ids, the planner would compare each root with each call of
 * the project.
 */
export const rootTimesQuery = (projectId: string, roots: readonly TraceRoot[]): Sql => {
  const ids = new Parameter(roots.map(({ id }) => id));
  return sql`
    UPDATE calls c SET started_at = r.started_at, ended_at = r.ended_at, event_times = r.event_times
    FROM unnest(${ids}::text[], ${roots.map((root) => root.started_at)}::timestamptz[],
      ${roots.map((root) => root.ended_at)}::timestamptz[], ${jsonArray(roots.map((root) => root.event_times))}::json[])
      r (id, started_at, ended_at, event_times)
    WHERE c.project_id = ${projectId} AND c.id = r.id AND c.id = ANY(${ids}::text[])`;
};

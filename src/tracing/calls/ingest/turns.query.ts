import { projectLock } from '../../../platform/database/advisory-locks.js';
import { textArray } from '../../../platform/query/binary-array.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { sql } from '../../../platform/query/sql.js';
import { columnsOfCall, visibleIn } from '../../visible-calls.js';
import { TURN_COLUMNS, type TurnChange, type TurnRow } from './turns.js';

/** Lock of a project, held while turns of traces are read and set. */
export const TURNS = projectLock(0x7475726e);

export const turnsQuery = (
  projectId: string,
  traceIds: readonly string[],
  limit: number,
) => sql<TurnRow>`
  SELECT row_number() OVER (ORDER BY c.started_at, c.id)::int AS place, ${columnsOfCall(TURN_COLUMNS)}, c.is_span
  FROM (SELECT c.* FROM unnest(${traceIds}::text[]) t (trace_id) ${lookedUp(
    sql`SELECT ${columnsOfCall(TURN_COLUMNS)}, c.started_at, c.otel_dump IS NOT NULL AS is_span
      FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = t.trace_id`,
    'c',
  )} LIMIT ${limit}::bigint) c
  ORDER BY place`;

/**
 * Sets turns of calls that have not changed since they were read. Rows are locked in the order of their ids, as in the
 * upsert. The lock is taken through `wanted`: with `c.id = ANY(…)` PostgreSQL expects ten rows and compares each with
 * all, which takes 26 s for 5,000 rows.
 */
export const turnsSet = (projectId: string, changes: readonly TurnChange[]) => sql`
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(${textArray(changes.map(({ before }) => before.id))}::text[],
      ${textArray(changes.map(({ before }) => before.thread_id))}::text[], ${textArray(changes.map(({ before }) => before.turn_id))}::text[],
      ${textArray(changes.map(({ before }) => before.thread_source))}::text[], ${textArray(changes.map((to) => to.thread_id))}::text[],
      ${textArray(changes.map((to) => to.turn_id))}::text[], ${textArray(changes.map((to) => to.thread_source))}::text[])
      AS w (id, old_thread, old_turn, old_source, thread_id, turn_id, thread_source)),
  locked AS MATERIALIZED (
    SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM wanted)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET thread_id = w.thread_id, turn_id = w.turn_id, thread_source = w.thread_source
  FROM wanted w
  WHERE c.project_id = ${projectId} AND w.id IN (SELECT id FROM locked) AND c.id = w.id
    AND (c.thread_id, c.turn_id, c.thread_source) IS NOT DISTINCT FROM (w.old_thread, w.old_turn, w.old_source)`;

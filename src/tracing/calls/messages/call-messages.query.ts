import { textArray } from '../../../platform/query/binary-array.js';
import { constant, type Sql, sql } from '../../../platform/query/sql.js';

/** Limits of the messages that log records may add to one call: their number and their bytes. */
export const MAX_MESSAGES = 2000;
export const MAX_BYTES = 4 * 1024 * 1024;
/**
 * Limits of the calls of a project of which only log records are stored: their number, and the stored bytes of these
 * records.
 */
const MAX_AWAITED = 20_000;
const MAX_AWAITED_BYTES = 256 * 1024 * 1024;

/** Messages that log records hold for one call. */
export interface CallMessages {
  projectId: string;
  id: string;
  /** Time at which the first record was made. */
  at: string | null;
  /** JSON of a list of `{trace_id, side, member, is_part, at, place, value}`, the input of `skein_with_logged`. */
  said: string;
  /** True if a value contains an escape that PostgreSQL's json functions refuse. */
  isOpaque: boolean;
}

interface CallId {
  project_id: string;
  id: string;
}

const SIDES = { inputs: sql`'inputs'`, output: sql`'output'` };

/** Returns inputs or an output, with the members that log records of the trace add. Has no parameters of its own. */
export const withLogged = (own: Sql, logged: Sql, traceId: Sql, side: 'inputs' | 'output') =>
  sql`skein_with_logged(${own}, ${logged}, ${traceId}, ${SIDES[side]})`;

const messageRows = (rows: readonly CallMessages[]) => sql`
  unnest(${textArray(rows.map(({ projectId }) => projectId))}::text[], ${textArray(rows.map(({ id }) => id))}::text[],
    ${textArray(rows.map(({ at }) => at))}::text[], ${textArray(rows.map(({ isOpaque }) => String(isOpaque)))}::text[],
    ${textArray(rows.map(({ said }) => said))}::text[]) AS w (project_id, id, started_at, is_opaque, logged)`;

/** Matches a row that holds only log records. It becomes the call when the span arrives. */
const IS_AWAITED = sql`c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL`;

/**
 * Adds messages of log records to calls, or makes rows that wait for their spans. `rows` must hold each call at most
 * once. A call is not changed and not returned if no message is new, or if all messages would be over a limit.
 * The row of the call is the lock: whichever comes later, a span or log records, sees what the other has committed
 * (docs/adr/0059-messages-in-logs.md).
 */
export function messagesUpsert(
  rows: readonly CallMessages[],
): Sql<CallId & { is_awaited: boolean }> {
  const limits = sql`${constant(MAX_MESSAGES)}, ${constant(MAX_BYTES)}`;
  const all = sql`skein_logged(c.logged, excluded.logged, ${limits})`;
  const own = {
    inputs: sql`CASE WHEN c.logged IS NULL THEN c.inputs ELSE c.own_inputs END`,
    output: sql`CASE WHEN c.logged IS NULL THEN c.output ELSE c.own_output END`,
  };
  const shown = (side: 'inputs' | 'output') =>
    sql`CASE WHEN c.op_name IS NOT NULL THEN ${withLogged(own[side], all, sql`c.trace_id`, side)} END`;
  return sql`
    INSERT INTO calls AS c (project_id, id, started_at, is_opaque, logged, logged_at, has_unread_usage)
    SELECT project_id, id, least(started_at::timestamptz, now()), is_opaque::boolean, logged::jsonb, now(), false
    FROM ${messageRows(rows)}
    ORDER BY project_id COLLATE "C", id COLLATE "C"
    ON CONFLICT (project_id, id) DO UPDATE SET
      started_at = coalesce(c.started_at, excluded.started_at), is_opaque = c.is_opaque OR excluded.is_opaque,
      logged = ${all}, logged_at = CASE WHEN c.op_name IS NULL THEN excluded.logged_at ELSE c.logged_at END,
      own_inputs = ${own.inputs}, own_output = ${own.output},
      inputs = ${shown('inputs')}, output = ${shown('output')}
    WHERE c.logged IS NULL OR jsonb_array_length(${all}) > jsonb_array_length(c.logged)
    RETURNING c.project_id, c.id, ${IS_AWAITED} AS is_awaited`;
}

/** Selects those of the rows of which some messages are not stored. All rows must belong to the project. */
export const refusedQuery = (projectId: string, rows: readonly CallMessages[]) => sql<CallId>`
  SELECT w.project_id, w.id FROM ${messageRows(rows)} LEFT JOIN calls c ON c.project_id = ${projectId} AND c.id = w.id
  WHERE c.logged IS NULL
    OR jsonb_array_length(skein_logged(c.logged, w.logged::jsonb, 2147483647, 2147483647)) > jsonb_array_length(c.logged)`;

/** Deletes the log records of a project that have waited longest for their span, if too many wait. */
export const awaitedTrim = (projectId: string) => sql`
  WITH old AS (
    SELECT c.id FROM calls c
    WHERE c.project_id = ${projectId} AND ${IS_AWAITED} AND c.id = ANY(ARRAY(
      SELECT id FROM (
        SELECT c.id, row_number() OVER newest AS count, sum(pg_column_size(c.logged)) OVER newest AS bytes
        FROM calls c WHERE c.project_id = ${projectId} AND ${IS_AWAITED}
        WINDOW newest AS (ORDER BY c.logged_at DESC, c.id DESC)) a
      WHERE a.count > ${MAX_AWAITED}::int OR a.bytes > ${MAX_AWAITED_BYTES}::bigint))
    ORDER BY c.id FOR UPDATE SKIP LOCKED)
  DELETE FROM calls c WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM old))`;

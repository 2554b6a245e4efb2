// SQL: ingest.
import { textArray } from '../../../platform/query/binary-array.js';
import { constant, type Sql, sql } from '../../../platform/query/sql.js';

/** Messages that log records may give one call, and bytes of them. */
export const MAX_MESSAGES = 2000;
export const MAX_BYTES = 4 * 1024 * 1024;
/** Calls of a project of which there are only log records, and bytes of these as they are stored. */
const MAX_AWAITED = 20_000;
const MAX_AWAITED_BYTES = 256 * 1024 * 1024;

/** What log records say of one call. */
export interface CallMessages {
  projectId: string;
  id: string;
  /** When the first of them was made. */
  at: string | null;
  /** JSON of a list of `{trace_id, side, member, is_part, at, place, value}`, as `skein_with_logged` takes it. */
  said: string;
  /** A value spells what PostgreSQL's json functions refuse. */
  isOpaque: boolean;
}

interface CallId {
  project_id: string;
  id: string;
}

const SIDES = { inputs: sql`'inputs'`, output: sql`'output'` };

/** Inputs or an output, with what log records of the trace add to it. Binds nothing of its own. */
export const withLogged = (own: Sql, logged: Sql, traceId: Sql, side: 'inputs' | 'output') =>
  sql`skein_with_logged(${own}, ${logged}, ${traceId}, ${SIDES[side]})`;

const messageRows = (rows: readonly CallMessages[]) => sql`
  unnest(${textArray(rows.map(({ projectId }) => projectId))}::text[], ${textArray(rows.map(({ id }) => id))}::text[],
    ${textArray(rows.map(({ at }) => at))}::text[], ${textArray(rows.map(({ isOpaque }) => String(isOpaque)))}::text[],
    ${textArray(rows.map(({ said }) => said))}::text[]) AS w (project_id, id, started_at, is_opaque, logged)`;

/** A row that holds nothing but log records: it becomes the call when the span comes. */
const IS_AWAITED = sql`c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL`;

/**
 * Adds to calls what log records say of them, or makes rows that wait for their spans. Each call is there at most once. A
 * call to which nothing is new, or all would be too much, stays as it is and is not answered. The row of the call is the
 * lock: whoever comes later, a span or log records, sees what the other has committed (docs/adr/0059-messages-in-logs.md).
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

/** Those of the rows, which are of one project, of which not all is stored. */
export const refusedQuery = (projectId: string, rows: readonly CallMessages[]) => sql<CallId>`
  SELECT w.project_id, w.id FROM ${messageRows(rows)} LEFT JOIN calls c ON c.project_id = ${projectId} AND c.id = w.id
  WHERE c.logged IS NULL
    OR jsonb_array_length(skein_logged(c.logged, w.logged::jsonb, 2147483647, 2147483647)) > jsonb_array_length(c.logged)`;

/** Forgets the log records of a project that have waited longest for their span, where too many wait. */
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

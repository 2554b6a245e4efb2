import { allOf, isListed, sql, type Sql } from '../../../platform/query/sql.js';
import { DOCUMENT_BYTES, withDescendants } from '../read/calls.query.js';

/** Limits of one batch: number of calls, and stored bytes of their documents. A batch has at least one call. */
export const MAX_CALLS = 500;
const MAX_BYTES = 8 * 1024 * 1024;

export interface CallCursor {
  id: string;
  /** Start of the call with microseconds, as text. Null for a call without a start. */
  started: string | null;
}

/** Selects the next calls that match a condition. `order` must be the order of an index. */
export function nextCalls<Row>(condition: Sql, order: Sql, more = sql``): Sql<Row> {
  return sql`
    SELECT t.* FROM (
      SELECT t.*, sum(t.bytes) OVER (ORDER BY t.place) - t.bytes AS before FROM (
        SELECT c.*, row_number() OVER () AS place FROM (
          SELECT c.id, c.started_at::text AS started, ${DOCUMENT_BYTES} AS bytes ${more} FROM calls c
          WHERE ${condition} ORDER BY ${order} LIMIT ${MAX_CALLS}::bigint) c) t) t
    WHERE before < ${MAX_BYTES}::bigint ORDER BY place`;
}

/** Calls of a project between two ids: without the first, and with the last. */
export interface CallWindow {
  after: string | null;
  until: string | null;
}

const isInWindow = (projectId: string, { after, until }: CallWindow) =>
  allOf(
    sql`c.project_id = ${projectId}`,
    after !== null && sql`c.id > ${after}`,
    until !== null && sql`c.id <= ${until}`,
  );

/** Selects the last id of the next `size` calls. There is no row when fewer are left. */
export const windowEnd = (projectId: string, after: string | null, size: number) => sql<{
  id: string;
}>`
  SELECT c.id FROM calls c WHERE ${isInWindow(projectId, { after, until: null })}
  ORDER BY c.id LIMIT 1 OFFSET ${size - 1}::bigint`;

export const matchingCalls = (
  projectId: string,
  condition: Sql,
  window: CallWindow,
): Sql<CallCursor> => nextCalls(allOf(isInWindow(projectId, window), condition), sql`c.id`);

/** Changes the time limit of statements until the end of the transaction or of its savepoint. */
export const statementLimit = (ms: number) =>
  sql`SELECT set_config('statement_timeout', ${String(ms)}, true)`;

export const startedCalls = (
  projectId: string,
  before: string,
  after: CallCursor | null,
): Sql<CallCursor> => nextCalls(isStartedBefore(projectId, before, after), BY_START);

export const payloadsQuery = (
  projectId: string,
  before: string,
  after: CallCursor | null,
): Sql<CallCursor & { has_payload: boolean | null }> =>
  nextCalls(
    isStartedBefore(projectId, before, after),
    BY_START,
    sql`, ${HAS_PAYLOAD} AS has_payload`,
  );

export const BY_START = sql`c.started_at, c.id`;

const isStartedBefore = (projectId: string, before: string, after: CallCursor | null) =>
  allOf(
    sql`c.project_id = ${projectId} AND c.started_at < ${before}::timestamptz`,
    after && sql`(c.started_at, c.id) > (${after.started}::timestamptz, ${after.id})`,
  );

export const endedCalls = (
  projectId: string,
  before: string,
  after: string | null,
): Sql<CallCursor> =>
  nextCalls(
    allOf(
      sql`c.project_id = ${projectId} AND c.started_at IS NULL AND c.ended_at < ${before}::timestamptz`,
      after !== null && sql`c.id > ${after}`,
    ),
    sql`c.id`,
  );

/** Time that ends, names and log records wait for the start of their call. It begins when they are first noticed. */
const AWAITED = sql`interval '1 day'`;

const IS_UNNOTICED = sql`c.op_name IS NULL AND c.logged_at IS NULL`;
const IS_OVERDUE = sql`c.op_name IS NULL AND c.logged_at < now() - ${AWAITED}
  AND NOT EXISTS (SELECT FROM legal_holds h WHERE h.project_id = c.project_id)`;

interface CallsOfProject {
  project_id: string;
  ids: string[];
}

const startless = (condition: Sql) => sql<CallsOfProject>`
  SELECT c.project_id, array_agg(c.id) AS ids FROM (
    SELECT c.project_id, c.id FROM calls c WHERE ${condition} ORDER BY c.logged_at, c.project_id, c.id LIMIT ${MAX_CALLS}::bigint) c
  GROUP BY c.project_id`;

export const unnoticedCalls = () => startless(IS_UNNOTICED);
export const overdueCalls = () => startless(IS_OVERDUE);

const unlockedIds = (projectId: string, ids: readonly string[], condition: Sql) => sql`ARRAY(
  SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)} AND ${condition}
  ORDER BY c.id FOR UPDATE SKIP LOCKED)`;

/** Stores the time from which the calls wait for their start. Ingest does not store it, so that writes cost no more. */
export const unnoticedNote = (projectId: string, ids: readonly string[]) => sql`
  UPDATE calls c SET logged_at = now()
  WHERE c.project_id = ${projectId} AND c.id = ANY(${unlockedIds(projectId, ids, IS_UNNOTICED)}) RETURNING 1`;

export const overdueErase = (projectId: string, ids: readonly string[]) => sql`
  DELETE FROM calls c
  WHERE c.project_id = ${projectId} AND c.id = ANY(${unlockedIds(projectId, ids, IS_OVERDUE)}) RETURNING 1`;

/** Locks calls in the order in which every other write locks them, and returns the ids of stored calls. */
export const callsLock = (projectId: string, ids: readonly string[]) => sql`
  SELECT id FROM calls WHERE project_id = ${projectId} AND ${isListed(sql`id`, ids)} ORDER BY id FOR UPDATE`;

export const callsErase = (projectId: string, ids: readonly string[]) =>
  sql<{
    trace_id: string | null;
  }>`DELETE FROM calls WHERE project_id = ${projectId} AND ${isListed(sql`id`, ids)} RETURNING trace_id`;

/** Selects calls, deleted or not, and all their descendants in the same trace, ordered by id. */
export const descendantsQuery = (projectId: string, ids: readonly string[]) => sql<{ id: string }>`
  WITH ${withDescendants(ids, sql`c.project_id = ${projectId}`)}
  SELECT id FROM family ORDER BY id`;

/** The part of a summary that is kept: the usage as it was sent. */
function summaryUsage(row: Sql): Sql {
  return sql`(SELECT CASE WHEN s.usage IS NOT NULL THEN ('{"usage":' || s.usage::text || '}')::json END
    FROM (SELECT (CASE WHEN ${row}.is_opaque THEN skein_safe_json(${row}.summary) ELSE ${row}.summary END) -> 'usage' AS usage) s)`;
}

/**
 * True if the call has a payload. Compares sizes where possible, so that few documents are read. A stored `{}` has
 * three bytes.
 */
const HAS_PAYLOAD = sql`(c.output IS NOT NULL OR c.otel_dump IS NOT NULL OR c.logged IS NOT NULL
  OR pg_column_size(c.inputs) > 3 OR pg_column_size(c.attributes) > 3
  OR octet_length(c.summary::text) <> coalesce(octet_length(${summaryUsage(sql`c`)}::text), 0))`;

/**
 * Removes the payloads of calls. Names, times, status and usage stay, and so do costs. No thread is marked, because no
 * statistics of threads change.
 */
export const payloadsErase = (projectId: string, ids: readonly string[]) => sql`
  UPDATE calls c SET inputs = CASE WHEN c.inputs IS NOT NULL THEN '{}'::json END,
    attributes = CASE WHEN c.attributes IS NOT NULL THEN '{}'::json END,
    output = NULL, otel_dump = NULL, logged = NULL, logged_at = NULL, own_inputs = NULL, own_output = NULL, summary = ${summaryUsage(sql`c`)}, is_opaque = false
  WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)} RETURNING 1`;

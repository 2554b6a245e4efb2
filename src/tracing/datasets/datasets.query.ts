// SQL: sources of rows are written and read for thousands of rows at once.
import { lock, lockShared, textLock } from '../../platform/database/advisory-locks.js';
import { isAfter } from '../../platform/query/keyset.js';
import {
  column,
  type Columns,
  jsonAt,
  orderBy,
  page,
  select,
} from '../../platform/query/columns.js';
import { lookedUp } from '../../platform/query/plans.js';
import { allOf, isListed, isOneOf, sql, type Sql } from '../../platform/query/sql.js';
import { isOnCall, typeColumn, typeIn } from '../feedback-names.query.js';
import { visibleIn } from '../visible-calls.js';
import type { DatasetLineageQueryDto } from './datasets.dto.js';

/**
 * Locks the sources of rows of a project. Deletions of calls share the lock; recording sources takes it exclusively,
 * after the locks of datasets.
 */
const SOURCES = textLock(0x736f7572);

export const callDeletionLock = (projectId: string): Sql => lockShared(SOURCES, projectId);
export const sourceInsertLock = (projectId: string): Sql => lock(SOURCES, projectId);

export interface SourceCall {
  id: string;
  trace_id: string;
  thread_id: string | null;
}

export const callsById = (projectId: string, ids: readonly string[]) => sql<SourceCall>`
  SELECT c.id, c.trace_id, c.thread_id FROM unnest(${ids}::text[]) t (id) ${lookedUp(
    sql`SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE ${visibleIn(projectId)} AND c.id = t.id`,
    'c',
  )}`;

/** Reads the oldest calls that match a condition. */
export const callsMatching = (projectId: string, condition: Sql, limit: number) => sql<SourceCall>`
  SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE ${visibleIn(projectId)} AND ${condition}
  ORDER BY c.started_at, c.id LIMIT ${limit}::bigint`;

/** Reads the payload of the latest feedback of each type on each call, as text. */
export const feedbackQuery = (
  projectId: string,
  ids: readonly string[],
  types: readonly string[],
) => sql<{ id: string; type: string; payload: string }>`
  SELECT t.id, k.type, f.payload FROM unnest(${ids}::text[]) t (id) CROSS JOIN unnest(${types}::text[]) k (type) ${lookedUp(
    sql`(SELECT f.payload::text AS payload FROM feedback f WHERE ${isOnCall(projectId, sql`t.id`)} AND ${typeColumn().sql} = ${typeIn(sql`k.type`)}
      ORDER BY f.created_at DESC, f.id DESC LIMIT 1)`,
    'f',
  )}`;

export interface NewSource extends SourceCall {
  rowDigest: string;
}

/** Records the sources of rows of a dataset. A source that was recorded before keeps its time and its user. */
export const sourcesInsert = (
  projectId: string,
  objectId: string,
  { sources, userName }: { sources: readonly NewSource[]; userName: string },
) => sql`
  INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_by)
  SELECT DISTINCT ${projectId}, ${objectId}, t.digest, t.id, t.trace_id, t.thread_id, ${userName}
  FROM unnest(${sources.map(({ rowDigest }) => rowDigest)}::text[], ${sources.map(({ id }) => id)}::text[],
    ${sources.map(({ trace_id }) => trace_id)}::text[], ${sources.map(({ thread_id }) => thread_id)}::text[])
    AS t (digest, id, trace_id, thread_id)
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = NULL`;

/** Marks rows as removed from a dataset; without `digests`, all rows. */
export const sourcesRemove = (
  projectId: string,
  objectId: string,
  digests: readonly string[] | null,
) => sql`
  UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = ${projectId} AND s.object_id = ${objectId} AND s.removed_at IS NULL
    AND ${digests ? isListed(sql`s.row_digest`, digests) : sql`TRUE`}`;

export const sourcesCopy = (
  projectId: string,
  { from, to, digests }: { from: string; to: string; digests: readonly string[] },
) => sql`
  INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_at, added_by, erased_at)
  SELECT s.project_id, ${to}, s.row_digest, s.call_id, s.trace_id, s.thread_id, s.added_at, s.added_by, s.erased_at
  FROM dataset_row_sources s
  WHERE s.project_id = ${projectId} AND s.object_id = ${from} AND ${isListed(sql`s.row_digest`, digests)}
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = excluded.erased_at`;

/**
 * Reads the calls from which rows were built, among the ids that `calls` selects. Calls that are marked as erased are
 * left out.
 */
export const sourcesOfCalls = (projectId: string, calls: Sql) => sql`
  SELECT DISTINCT s.call_id FROM dataset_row_sources s
  WHERE s.project_id = ${projectId} AND s.call_id IN (${calls}) AND s.erased_at IS NULL`;

export const sourcesErased = (projectId: string, callIds: readonly string[]) => sql`
  UPDATE dataset_row_sources s SET erased_at = now()
  WHERE s.project_id = ${projectId} AND ${isListed(sql`s.call_id`, callIds)} AND s.erased_at IS NULL`;

const SOURCE: Columns<
  | 'object_id'
  | 'row_digest'
  | 'call_id'
  | 'trace_id'
  | 'thread_id'
  | 'added_at'
  | 'added_by'
  | 'removed_at'
  | 'erased'
  | 'erased_at'
> = {
  object_id: column.text(sql`s.object_id`, { isNotNull: true }),
  row_digest: column.text(sql`s.row_digest`, { isNotNull: true }),
  call_id: column.text(sql`s.call_id`, { isNotNull: true }),
  trace_id: column.text(sql`s.trace_id`),
  thread_id: column.text(sql`s.thread_id`),
  added_at: column.time(sql`s.added_at`),
  added_by: column.text(sql`s.added_by`),
  removed_at: column.time(sql`s.removed_at`),
  erased: column.bool(sql`(s.erased_at IS NOT NULL)`),
  erased_at: column.time(sql`s.erased_at`),
};

const BY_ROW = [
  { field: 'object_id', direction: 'asc' },
  { field: 'row_digest', direction: 'asc' },
] as const;

/** The condition of the partial index, word for word. */
const IS_TO_REMOVE = sql`s.erased_at IS NOT NULL AND s.removed_at IS NULL`;

export const lineageQuery = (request: DatasetLineageQueryDto): Sql => {
  const { project_id, object_id, call_ids, row_digests, erased, after } = request;
  const order = { columns: SOURCE, sorts: BY_ROW, tieBreaker: 'call_id' as const };
  return sql`SELECT row_to_json(o)::text FROM (
    SELECT ${select(SOURCE, Object.keys(SOURCE))} FROM dataset_row_sources s WHERE ${allOf(
      sql`s.project_id = ${project_id}`,
      typeof object_id === 'string' && sql`s.object_id = ${object_id}`,
      isOneOf(sql`s.call_id`, call_ids),
      isOneOf(sql`s.row_digest`, row_digests),
      erased === true && IS_TO_REMOVE,
      erased === false && sql`NOT (${IS_TO_REMOVE})`,
      isAfter(after, order),
    )}
    ${orderBy(SOURCE, BY_ROW, 'call_id')} ${page(request)}) o`;
};

/** Reads the traces or threads of a dataset's rows. A call without a thread is grouped by its trace. */
export const groupsQuery = (projectId: string, objectId: string, by: 'trace' | 'thread') => sql<{
  row_digest: string;
  group: string;
}>`
  SELECT DISTINCT s.row_digest, ${by === 'trace' ? sql`s.trace_id` : sql`coalesce('thread ' || nullif(s.thread_id, ''), 'trace ' || s.trace_id)`} AS group
  FROM dataset_row_sources s WHERE s.project_id = ${projectId} AND s.object_id = ${objectId} ORDER BY 1, 2`;

/** Reads the digest of the value at a path of each table row. Rows without a value are left out. */
export const valuesAt = (
  projectId: string,
  digests: readonly string[],
  path: readonly string[],
) => {
  const value = jsonAt(column.json(sql`r.val`, sql`r.is_opaque`), path).sql;
  return sql<{ row_digest: string; group: string }>`
    SELECT t.row_digest, t.group FROM (
      SELECT r.digest AS row_digest, encode(sha256(convert_to(${value}, 'UTF8')), 'hex') AS group
      FROM unnest(${digests}::text[]) d (digest) ${lookedUp(
        sql`SELECT r.digest, r.val, r.is_opaque FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = d.digest`,
        'r',
      )}) t
    WHERE t.group IS NOT NULL`;
};

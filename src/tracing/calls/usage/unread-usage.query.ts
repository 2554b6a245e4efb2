import { jsonArray, textArray } from '../../../platform/query/binary-array.js';
import { isListed, sql, type Sql } from '../../../platform/query/sql.js';
import { BY_START, type CallCursor, nextCalls } from '../erasing/calls-erasing.query.js';
import type { StoredUsage } from '../../usage/stored-usage.js';

/**
 * True if the usage of the call `c` was not read, or was read by another reader. Spelled as in
 * `calls_unread_usage_idx`, which holds only these rows. The usage names its reader. So rows that a process of an older
 * build writes during a rolling upgrade are read again.
 */
const IS_UNREAD = sql`(c.has_unread_usage OR c.usage IS NOT NULL AND (c.usage -> 0 ->> 'reader') IS DISTINCT FROM '1')`;

const MAX_COUNTED = 1_000_000;

/** Counts the unread rows, with the index that holds only these. */
export const unreadCount = () => sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (SELECT c.id FROM calls c WHERE ${IS_UNREAD} LIMIT ${MAX_COUNTED}::bigint) c`;

export const isUnreadIn = (projectId: string) => sql<{ is_unread: boolean }>`
  SELECT EXISTS (SELECT FROM calls c WHERE c.project_id = ${projectId} AND ${IS_UNREAD}) AS is_unread`;

export const unreadProject = () => sql<{ project_id: string }>`
  SELECT c.project_id FROM calls c WHERE ${IS_UNREAD} ORDER BY c.project_id, c.started_at, c.id LIMIT 1`;

/** Selects the next unread rows of a project in the order of their starts, so that few slots change at a time. */
export const unreadCalls = (projectId: string): Sql<CallCursor> =>
  nextCalls(sql`c.project_id = ${projectId} AND ${IS_UNREAD}`, BY_START);

export interface UnreadUsageRow {
  id: string;
  usage: string | null;
  /** The whole summary, if PostgreSQL cannot parse it. Else null. */
  summary: string | null;
  weave: string | null;
  /** Output that may hold the id of the response, for a call without a stored id. */
  output: string | null;
}

/** Locks rows in the order in which every other write locks them, and returns the values to read. */
export const unreadLock = (projectId: string, ids: readonly string[]) => sql<UnreadUsageRow>`
  SELECT c.id, CASE WHEN NOT c.is_opaque THEN (c.summary -> 'usage')::text END AS usage,
    CASE WHEN c.is_opaque THEN c.summary::text END AS summary,
    ((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) -> 'weave')::text AS weave,
    CASE WHEN c.response_id IS NULL THEN c.output::text END AS output
  FROM calls c WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)} AND ${IS_UNREAD}
  ORDER BY c.id FOR UPDATE`;

export interface UsageUpdate {
  id: string;
  usage: StoredUsage[] | null;
  countsGross: boolean;
  responseId: string | null;
}

/**
 * Stores the read usage. `counts_gross` stays as it was read before, because the attributes that decide it may be
 * erased.
 */
export const usageSet = (projectId: string, rows: readonly UsageUpdate[]) => sql`
  UPDATE calls c SET usage = r.usage, has_unread_usage = false, response_id = coalesce(c.response_id, r.response_id),
    counts_gross = CASE WHEN c.has_unread_usage THEN r.counts_gross::boolean ELSE c.counts_gross END
  FROM unnest(${textArray(rows.map(({ id }) => id))}::text[],
    ${jsonArray(rows.map(({ usage }) => usage && JSON.stringify(usage)))}::json[],
    ${textArray(rows.map(({ countsGross }) => String(countsGross)))}::text[],
    ${textArray(rows.map(({ responseId }) => responseId))}::text[]) r (id, usage, counts_gross, response_id)
  WHERE c.project_id = ${projectId} AND c.id = r.id`;

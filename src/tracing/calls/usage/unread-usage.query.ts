// SQL: batches are bounded by their bytes, and locked.
import { jsonArray, textArray } from '../../../platform/query/binary-array.js';
import { isListed, sql, type Sql } from '../../../platform/query/sql.js';
import { BY_START, type CallCursor, nextCalls } from '../erasing/calls-erasing.query.js';
import type { StoredUsage } from '../../usage/stored-usage.js';

/**
 * Another reader made the usage of the call `c`, or none. In the words of `calls_unread_usage_idx`, which holds these alone: the usage says
 * itself who made it, so that also what a process of an older build writes during a rolling upgrade is read again.
 */
const IS_UNREAD = sql`(c.has_unread_usage OR c.usage IS NOT NULL AND (c.usage -> 0 ->> 'reader') IS DISTINCT FROM '1')`;

/** More rows than this are not counted. */
const MAX_COUNTED = 1_000_000;

/** How many rows are unread, by the index that holds only these. */
export const unreadCount = () => sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (SELECT c.id FROM calls c WHERE ${IS_UNREAD} LIMIT ${MAX_COUNTED}::bigint) c`;

/** Whether a project has some. */
export const isUnreadIn = (projectId: string) => sql<{ is_unread: boolean }>`
  SELECT EXISTS (SELECT FROM calls c WHERE c.project_id = ${projectId} AND ${IS_UNREAD}) AS is_unread`;

/** The next project that has some. */
export const unreadProject = () => sql<{ project_id: string }>`
  SELECT c.project_id FROM calls c WHERE ${IS_UNREAD} ORDER BY c.project_id, c.started_at, c.id LIMIT 1`;

/** The next rows of a project, in the order of their start, so that few statistics of five minutes change at a time. */
export const unreadCalls = (projectId: string): Sql<CallCursor> =>
  nextCalls(sql`c.project_id = ${projectId} AND ${IS_UNREAD}`, BY_START);

/** What is to be read of a call. */
export interface UnreadUsageRow {
  id: string;
  usage: string | null;
  /** The whole of it where PostgreSQL cannot take it apart. */
  summary: string | null;
  weave: string | null;
  /** What may hold the id of the response, of a call that has none. */
  output: string | null;
}

/** Locks rows in the order in which every other write does, and answers what is to be read of them. */
export const unreadLock = (projectId: string, ids: readonly string[]) => sql<UnreadUsageRow>`
  SELECT c.id, CASE WHEN NOT c.is_opaque THEN (c.summary -> 'usage')::text END AS usage,
    CASE WHEN c.is_opaque THEN c.summary::text END AS summary,
    ((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) -> 'weave')::text AS weave,
    CASE WHEN c.response_id IS NULL THEN c.output::text END AS output
  FROM calls c WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)} AND ${IS_UNREAD}
  ORDER BY c.id FOR UPDATE`;

/** What was read of a call. */
export interface UsageUpdate {
  id: string;
  usage: StoredUsage[] | null;
  countsGross: boolean;
  responseId: string | null;
}

/** How the client counts stays as it was read before: the attributes that tell it may be gone. */
export const usageSet = (projectId: string, rows: readonly UsageUpdate[]) => sql`
  UPDATE calls c SET usage = r.usage, has_unread_usage = false, response_id = coalesce(c.response_id, r.response_id),
    counts_gross = CASE WHEN c.has_unread_usage THEN r.counts_gross::boolean ELSE c.counts_gross END
  FROM unnest(${textArray(rows.map(({ id }) => id))}::text[],
    ${jsonArray(rows.map(({ usage }) => usage && JSON.stringify(usage)))}::json[],
    ${textArray(rows.map(({ countsGross }) => String(countsGross)))}::text[],
    ${textArray(rows.map(({ responseId }) => responseId))}::text[]) r (id, usage, counts_gross, response_id)
  WHERE c.project_id = ${projectId} AND c.id = r.id`;

// SQL: lists are streamed, and counts of queues change together with positions of items.
import { lock, lockShared, textLock } from '../../platform/database/advisory-locks.js';
import { column, type Columns, orderBy, page, select } from '../../platform/query/columns.js';
import { compile } from '../../platform/query/expression.js';
import { allOf, isListed, sql, type Sql } from '../../platform/query/sql.js';
import type { AnnotationQueuesQueryDto } from './annotation.dto.js';

/**
 * Locks the items of a project. Deletions of calls share the lock, and adding items takes it exclusively. So no item is
 * added for a call that is being deleted.
 */
const ITEMS = textLock(0x616e6e6f);

export const callDeletionLock = (projectId: string): Sql => lockShared(ITEMS, projectId);
export const itemInsertLock = (projectId: string): Sql => lock(ITEMS, projectId);

const NEVER = sql`FALSE`;

const QUEUE: Columns = {
  id: column.text(sql`q.id`, { isNotNull: true }),
  project_id: column.text(sql`q.project_id`),
  name: column.text(sql`q.name`, { isNotNull: true }),
  description: column.text(sql`q.description`),
  scorer_refs: column.json(sql`q.scorer_refs`, NEVER),
  created_at: column.time(sql`q.created_at`, { isNotNull: true }),
  created_by: column.text(sql`q.created_by`),
  updated_at: column.time(sql`q.updated_at`, { isNotNull: true }),
  deleted_at: column.time(sql`q.deleted_at`),
};

const SORTABLE = ['id', 'name', 'created_at', 'updated_at'];
const NEWEST_FIRST = [{ field: 'created_at', direction: 'desc' }] as const;

const isLive = (projectId: string) => sql`q.project_id = ${projectId} AND q.deleted_at IS NULL`;

export function queuesQuery(request: AnnotationQueuesQueryDto): Sql {
  const { project_id, name, sort_by } = request;
  const sorts = (sort_by ?? []).filter(({ field }) => SORTABLE.includes(field));
  const isNamed = name && compile(hasInName(name), QUEUE);
  return sql`SELECT row_to_json(o)::text FROM (
    SELECT ${select(QUEUE, Object.keys(QUEUE))} FROM annotation_queues q
    WHERE ${allOf(isLive(project_id), isNamed)}
    ${orderBy(QUEUE, sorts.length > 0 ? sorts : NEWEST_FIRST, 'id')} ${page(request)}) o`;
}

const hasInName = (part: string) => ({
  $expr: {
    $contains: {
      input: { $getField: 'name' },
      substr: { $literal: part },
      case_insensitive: true,
    },
  },
});

/** Reads a queue as JSON text, deleted or not. */
export const queueQuery = (projectId: string, id: string) => sql<{ json: string }>`
  SELECT row_to_json(o)::text AS json FROM (
    SELECT ${select(QUEUE, Object.keys(QUEUE))} FROM annotation_queues q
    WHERE q.project_id = ${projectId} AND q.id = ${id}) o`;

interface LockedQueue {
  total_items: number;
}

/** Locks a queue that is not deleted. */
export const queueLock = (projectId: string, id: string) => sql<LockedQueue>`
  SELECT q.total_items FROM annotation_queues q WHERE ${isLive(projectId)} AND q.id = ${id} FOR UPDATE`;

/** Locks the queues of items, deleted or not. The order by id prevents deadlocks. */
export const queuesLock = (projectId: string, itemIds: readonly string[]) => sql<{ id: string }>`
  SELECT q.id FROM annotation_queues q WHERE q.project_id = ${projectId} AND q.id IN (
    SELECT i.queue_id FROM annotation_queue_items i
    WHERE i.project_id = ${projectId} AND ${isListed(sql`i.id`, itemIds)})
  ORDER BY q.id FOR UPDATE`;

export const queueCount = (projectId: string) => sql<{ count: number }>`
  SELECT count(*)::int AS count FROM annotation_queues q WHERE ${isLive(projectId)}`;

export const addedCountUpdate = (projectId: string, id: string, count: number) => sql`
  UPDATE annotation_queues SET total_items = total_items + ${count}::int
  WHERE project_id = ${projectId} AND id = ${id}`;

export const completedCountUpdate = (projectId: string, id: string) => sql`
  UPDATE annotation_queues SET completed_items = completed_items + 1
  WHERE project_id = ${projectId} AND id = ${id}`;

interface QueueStats {
  queue_id: string;
  total_items: number;
  completed_items: number;
}

/** Counts the items of the queues that exist. */
export const statsQuery = (projectId: string, ids: readonly string[]) => sql<QueueStats>`
  SELECT q.id AS queue_id, q.total_items, q.completed_items FROM annotation_queues q
  WHERE ${isLive(projectId)} AND ${isListed(sql`q.id`, ids)}`;

/** Removes items from their queues, which must be locked. */
export const itemsForget = (projectId: string, ids: readonly string[]) => sql`
  WITH gone AS (
    DELETE FROM annotation_queue_items i
    WHERE i.project_id = ${projectId} AND ${isListed(sql`i.id`, ids)} RETURNING i.id, i.queue_id, i.annotation_state
  ), progress AS (
    DELETE FROM annotation_progress p
    WHERE p.project_id = ${projectId} AND p.item_id IN (SELECT id FROM gone)
  )
  UPDATE annotation_queues q SET total_items = q.total_items - g.total, completed_items = q.completed_items - g.completed
  FROM (SELECT queue_id, count(*)::int AS total,
      (count(*) FILTER (WHERE annotation_state IN ('completed', 'skipped')))::int AS completed
    FROM gone GROUP BY queue_id) g
  WHERE q.project_id = ${projectId} AND q.id = g.queue_id`;

export const gapsClose = (projectId: string, queueIds: readonly string[]) => sql`
  UPDATE annotation_queue_items i SET position = r.place
  FROM (SELECT i.id, row_number() OVER (PARTITION BY i.queue_id ORDER BY i.position)::int AS place
    FROM annotation_queue_items i
    WHERE i.project_id = ${projectId} AND i.queue_id = ANY(${queueIds}::text[])) r
  WHERE i.project_id = ${projectId} AND i.id = r.id AND i.position <> r.place`;

// SQL: items are built from calls in one statement, and an index finds a page of items in a state.
import {
  column,
  type Columns,
  orderBy,
  page,
  select,
  type Sort,
} from '../../platform/query/columns.js';
import { lookedUp } from '../../platform/query/plans.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import { visibleIn } from '../visible-calls.js';
import type {
  AnnotationItemsFilterDto,
  AnnotationItemsQueryDto,
  AnnotationState,
} from './annotation.dto.js';

const ITEM: Columns = {
  id: column.text(sql`i.id`, { isNotNull: true }),
  project_id: column.text(sql`i.project_id`, { isNotNull: true }),
  queue_id: column.text(sql`i.queue_id`, { isNotNull: true }),
  call_id: column.text(sql`i.call_id`, { isNotNull: true }),
  call_started_at: column.time(sql`i.call_started_at`, { isNotNull: true }),
  call_ended_at: column.time(sql`i.call_ended_at`),
  call_op_name: column.text(sql`i.call_op_name`, { isNotNull: true }),
  call_trace_id: column.text(sql`i.call_trace_id`, { isNotNull: true }),
  display_fields: column.json(sql`i.display_fields`, sql`FALSE`),
  added_by: column.text(sql`i.created_by`, { isNotNull: true }),
  annotation_state: column.text(sql`i.annotation_state`, { isNotNull: true }),
  annotator_user_id: column.text(sql`i.annotator_user_id`),
  created_at: column.time(sql`i.created_at`, { isNotNull: true }),
  created_by: column.text(sql`i.created_by`, { isNotNull: true }),
  updated_at: column.time(sql`i.updated_at`, { isNotNull: true }),
  deleted_at: column.time(sql`NULL::timestamptz`),
};
const POSITION = 'position_in_queue';
const POSITIONED: Columns = {
  ...ITEM,
  [POSITION]: column.number(sql`i.position`, { isNotNull: true, isInteger: true }),
};
const SORTABLE = Object.keys(POSITIONED).filter((name) => name !== 'display_fields');
const BY_POSITION: readonly Sort[] = [{ field: POSITION, direction: 'asc' }];

const inQueue = (projectId: string, queueId: string) =>
  sql`i.project_id = ${projectId} AND i.queue_id = ${queueId}`;

/**
 * Reads items of a queue as JSON texts. In the order of the queue, a page of items in some states costs that page and
 * the pages before it: an index range is read for each state.
 */
export function itemsQuery(queueId: string, request: AnnotationItemsQueryDto): Sql {
  const { project_id: projectId, filter, limit = null, include_position } = request;
  const given = (request.sort_by ?? []).filter(({ field }) => SORTABLE.includes(field));
  const sorts = given.length > 0 ? given : BY_POSITION;
  const columns = include_position ? POSITIONED : ITEM;
  const condition = allOf(inQueue(projectId, queueId), filter && isWanted(filter));
  const states = [...new Set(filter?.annotation_states ?? [])];
  const order = orderBy(POSITIONED, sorts, 'id');
  const most = limit === null ? null : limit + (request.offset ?? 0);
  const found =
    states.length === 0
      ? sql`annotation_queue_items i WHERE ${condition}`
      : sql`unnest(${states}::text[]) s (state) ${lookedUp(
          sql`(SELECT i.* FROM annotation_queue_items i WHERE ${condition} AND i.annotation_state = s.state
            ${order} LIMIT ${most}::bigint)`,
          'i',
        )}`;
  return sql`SELECT row_to_json(o)::text FROM (
    SELECT ${select(columns, Object.keys(columns))} FROM ${found} ${order} ${page(request)}) o`;
}

const equals = (value: Sql, wanted: string | null | undefined) =>
  typeof wanted === 'string' && sql`${value} = ${wanted}`;

const isWanted = (filter: AnnotationItemsFilterDto) =>
  allOf(
    equals(sql`i.id`, filter.id),
    equals(sql`i.call_id`, filter.call_id),
    equals(sql`i.call_op_name`, filter.call_op_name),
    equals(sql`i.call_trace_id`, filter.call_trace_id),
    equals(sql`i.created_by`, filter.added_by),
  );

export const itemQuery = (projectId: string, id: string) => sql<{ json: string }>`
  SELECT row_to_json(o)::text AS json FROM (
    SELECT ${select(POSITIONED, Object.keys(POSITIONED))} FROM annotation_queue_items i
    WHERE i.project_id = ${projectId} AND i.id = ${id}) o`;

interface ItemState {
  state: AnnotationState;
  /** The state that the caller has reached; null before the caller begins. */
  mine: AnnotationState | null;
}

export const stateQuery = (
  projectId: string,
  { queueId, itemId, userId }: { queueId: string; itemId: string; userId: string },
) => sql<ItemState>`
  SELECT i.annotation_state AS state, (SELECT p.state FROM annotation_progress p
    WHERE p.project_id = ${projectId} AND p.item_id = i.id AND p.user_id = ${userId}) AS mine
  FROM annotation_queue_items i WHERE ${inQueue(projectId, queueId)} AND i.id = ${itemId}`;

export const stateUpdate = (
  projectId: string,
  id: string,
  { state, userId }: { state: AnnotationState; userId: string },
) => sql`
  UPDATE annotation_queue_items SET annotation_state = ${state}, annotator_user_id = ${userId}, updated_at = now()
  WHERE project_id = ${projectId} AND id = ${id}`;

/** Reads the first item of a queue in a state. With `userId`, only items that this user brought to the state. */
export const firstIn = (
  projectId: string,
  queueId: string,
  { state, userId }: { state: AnnotationState; userId?: string },
) => sql<{ id: string }>`
  SELECT i.id FROM annotation_queue_items i
  WHERE ${allOf(
    inQueue(projectId, queueId),
    sql`i.annotation_state = ${state}`,
    userId !== undefined && sql`i.annotator_user_id = ${userId}`,
  )}
  ORDER BY i.position, i.id LIMIT 1`;

export interface NewItems {
  projectId: string;
  queueId: string;
  /** Number of items in the queue. */
  total: number;
  callIds: readonly string[];
  ids: readonly string[];
  displayFields: readonly string[];
  userName: string;
}

/** Counts the calls that are in the queue already. */
export const itemsThere = ({ projectId, queueId, callIds }: NewItems) => sql<{ count: number }>`
  SELECT count(*)::int AS count FROM unnest(${callIds}::text[]) t (id) ${lookedUp(
    sql`SELECT 1 FROM annotation_queue_items i WHERE ${inQueue(projectId, queueId)} AND i.call_id = t.id`,
    'i',
  )}`;

/** Adds the calls that exist and are not in the queue, in their order. */
export const itemsInsert = (items: NewItems) => sql`
  INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_started_at, call_ended_at,
    call_op_name, call_trace_id, display_fields, created_by)
  SELECT ${items.projectId}, t.item_id, ${items.queueId}, ${items.total}::int + row_number() OVER (ORDER BY t.n)::int,
    c.id, c.started_at, c.ended_at, c.op_name, c.trace_id, ${JSON.stringify(items.displayFields)}::json, ${items.userName}
  FROM unnest(${items.callIds}::text[], ${items.ids}::text[]) WITH ORDINALITY t (id, item_id, n)
  ${lookedUp(
    sql`SELECT c.id, c.started_at, c.ended_at, c.op_name, c.trace_id FROM calls c
      WHERE ${visibleIn(items.projectId)} AND c.id = t.id AND NOT EXISTS (
        SELECT FROM annotation_queue_items i WHERE ${inQueue(items.projectId, items.queueId)} AND i.call_id = t.id)`,
    'c',
  )}
  RETURNING 1`;

/** Reads the items of the calls whose ids `calls` selects. */
export const itemsOfCalls = (projectId: string, calls: Sql) => sql`
  SELECT i.id FROM annotation_queue_items i WHERE i.project_id = ${projectId} AND i.call_id IN (${calls})`;

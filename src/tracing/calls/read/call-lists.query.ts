import { isAfter, rangesAfter } from '../../../platform/query/keyset.js';
import { column, orderBy } from '../../../platform/query/columns.js';
import { lookedUp, nearOrAll, pageLimit } from '../../../platform/query/plans.js';
import { allOf, join, sql, type Sql } from '../../../platform/query/sql.js';
import { IS_TIMED, TIMED_MS, visibleIn } from '../../visible-calls.js';
import type { CallsQueryDto } from '../calls.dto.js';
import {
  toCallRows,
  type CallRows,
  isMatch,
  type ReadAhead,
  queryableColumns,
  selectedColumns,
} from './calls.query.js';
import { derivedField } from './derived-field.js';

interface ListOptions {
  /** Condition for the calls of one part of a search. */
  part?: Sql;
  ahead?: ReadAhead;
}

export const callRows = (request: CallsQueryDto, found: ListOptions = {}): CallRows =>
  toCallRows(foundCalls(request, found), request, selectedColumns(request));

function foundCalls(request: CallsQueryDto, { part, ahead }: ListOptions): Sql {
  const { project_id, sort_by, after, limit, offset, expand_columns } = request;
  const sorts = sort_by?.length ? sort_by : OLDEST_FIRST;
  const among = sql`calls c WHERE c.project_id = ${project_id}`;
  const columns = queryableColumns(project_id, expand_columns, ahead?.prices);
  const order = { columns, sorts, tieBreaker: 'id', among };
  const ordered = orderBy(columns, sorts, 'id');
  const page = sql`${ordered} ${pageLimit(limit)}`;
  const match = isMatch(request, ahead);
  const calls = sql`SELECT c.* FROM calls c WHERE ${allOf(visibleIn(project_id), match)}`;
  const isBehind = allOf(isAfter(after, order), part);
  const candidates = sql`calls c WHERE ${visibleIn(project_id)} AND ${isBehind}`;
  const list: CallListPage = { candidates, match, ordered, limit, offset };
  if (isSlowestRoots(request)) {
    const timed = {
      ...order,
      columns: { ...columns, [derivedField('latency_ms')]: column.number(TIMED_MS) },
      isIndexed: true,
    };
    return slowestRoots(
      { ...list, candidates: sql`calls c WHERE ${visibleIn(project_id)}` },
      {
        timed: rangesAfter(after, timed),
        orderOfTimed: orderBy(timed.columns, sorts, 'id'),
        all: rangesAfter(after, { ...order, isIndexed: true }),
      },
    );
  }
  if (!part && !ahead?.candidates && isNearby(request) && lastRow(list) <= NEAR)
    return nearPage(list);
  if (!offset) return sql`${calls} AND ${isBehind} ${page}`;
  return laterPage(list, among);
}

interface CallListPage extends Pick<CallsQueryDto, 'limit' | 'offset'> {
  candidates: Sql;
  match: Sql;
  ordered: Sql;
}

const lastRow = ({ limit, offset }: CallListPage) => (limit ?? Infinity) + (offset ?? 0);
const pageBehind = ({ ordered, limit, offset }: CallListPage) =>
  sql`${ordered} ${pageLimit(limit)} OFFSET ${offset ?? null}::bigint`;

function nearPage(list: CallListPage): Sql {
  const { candidates, match, ordered } = list;
  const next = sql`SELECT c.* FROM ${candidates} ${ordered} ${pageLimit(NEAR)}`;
  const upTo = sql`${ordered} ${pageLimit(lastRow(list))}`;
  const near = sql`SELECT c.* FROM (${next}) c WHERE ${match} ${upTo}`;
  const all = sql`SELECT c.* FROM ${candidates} AND ${match} ${upTo}`;
  return sql`${nearOrAll(near, all, lastRow(list))} ${pageBehind(list)}`;
}

/**
 * Conditions for the parts of the roots that follow the previous page: for timed roots, in the order of the index, and
 * for all roots. The first page has only one part.
 */
interface RootParts {
  timed: Sql[];
  orderOfTimed: Sql;
  all: Sql[];
}

/**
 * Lists the slowest roots first. `calls_root_latency_idx` holds only roots that have ended, so that starts do not pay
 * for it. Roots without a latency come last, in the last part. They are read only if the others do not fill the page.
 */
function slowestRoots(list: CallListPage, parts: RootParts): Sql {
  const { candidates, match, ordered, limit } = list;
  const rows = limit === null || limit === undefined ? null : lastRow(list);
  const roots = (condition: Sql, order: Sql) =>
    sql`(SELECT c.* FROM ${candidates} AND ${match} AND ${condition} ${order} ${pageLimit(rows)})`;
  const together = (pages: Sql[]) =>
    sql`SELECT c.* FROM (${join(pages, ' UNION ALL ')}) c ${ordered} ${pageLimit(rows)}`;
  const isFirst = parts.timed.length === 1;
  const timed = parts.timed
    .slice(0, isFirst ? 1 : -1)
    .map((part) =>
      roots(sql`${part} AND c.ended_at IS NOT NULL AND ${IS_TIMED}`, parts.orderOfTimed),
    );
  const others = roots(sql`${parts.all.at(-1)} AND (${IS_TIMED}) IS NOT TRUE`, ordered);
  const all = together([...timed, others]);
  if (rows === null) return sql`SELECT c.* FROM (${all}) c ${pageBehind(list)}`;
  return sql`${nearOrAll(together(timed), all, rows)} ${pageBehind(list)}`;
}

/**
 * Lists a page with an offset. Skipped calls are sorted without their documents. The newest roots are found in
 * `calls_roots_idx` alone.
 */
function laterPage(list: CallListPage, among: Sql): Sql {
  const { candidates, match, ordered } = list;
  const keys = sql`SELECT c.id FROM ${candidates} AND ${match} ${pageBehind(list)}`;
  return sql`SELECT c.* FROM (${keys}) k ${lookedUp(sql`SELECT c.* FROM ${among} AND c.id = k.id`, 'c')} ${ordered}`;
}

/**
 * Number of calls that are read in order before all calls of the project are searched. Reading them takes some 3 ms.
 */
const NEAR = 2000;

/** Returns true if the matching calls may be near the start of the page, but may also be few in the whole project. */
function isNearby(request: CallsQueryDto): boolean {
  const { filter, query } = request;
  return isStartOrdered(request) && Boolean(query ?? Object.values(filter ?? {}).some(Boolean));
}

/** Returns true if a request sorts by `started_at` and its filter names no ids. */
export function isStartOrdered({ filter, sort_by }: CallsQueryDto): boolean {
  const isByStart =
    !sort_by?.length || (sort_by.length === 1 && sort_by[0]!.field === 'started_at');
  const { call_ids, trace_ids, parent_ids, thread_ids, turn_ids } = filter ?? {};
  return (
    isByStart && ![call_ids, trace_ids, parent_ids, thread_ids, turn_ids].some((ids) => ids?.length)
  );
}

/**
 * Returns true for a page of all calls or of all roots. No value of it makes another plan better, so the plan is kept.
 */
export const isPlainPage = ({ filter, query, limit, offset }: CallsQueryDto): boolean =>
  typeof limit === 'number' &&
  !offset &&
  !query &&
  Object.entries(filter ?? {}).every(([name, value]) => !value || name === 'trace_roots_only');

const isSlowestRoots = ({ filter, sort_by }: CallsQueryDto): boolean =>
  filter?.trace_roots_only === true &&
  sort_by?.[0]?.field === derivedField('latency_ms') &&
  sort_by[0].direction === 'desc';

const OLDEST_FIRST = [{ field: 'started_at', direction: 'asc' }] as const;

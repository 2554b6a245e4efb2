import { projectLock } from '../../platform/database/advisory-locks.js';
import type { MarkedStatistics } from '../../platform/database/marks-refresher.js';
import { isAfter, rangesAfter } from '../../platform/query/keyset.js';
import { column, type Columns, orderBy, page, select } from '../../platform/query/columns.js';
import { allOf, isListed, isOneOf, join, sql, type Sql } from '../../platform/query/sql.js';
import { percentileOf } from '../statistics/statistics.query.js';
import { PRODUCTION, SOURCES } from '../conventions/call-source.js';
import { isTurn, LATENCY_MS, visibleIn } from '../visible-calls.js';
import type { ThreadsFilterDto, ThreadsQueryDto } from './threads.dto.js';
import { isInNone, pageLimit, unseen } from '../../platform/query/plans.js';

const THREAD: Columns = {
  thread_id: column.text(sql`t.thread_id`, { isNotNull: true }),
  turn_count: column.number(sql`t.turn_count`, { isNotNull: true, isInteger: true }),
  start_time: column.time(sql`t.start_time`, { isNotNull: true }),
  last_updated: column.time(sql`t.last_updated`, { isNotNull: true }),
  first_turn_id: column.text(sql`t.first_turn_id`, { isNotNull: true }),
  last_turn_id: column.text(sql`t.last_turn_id`, { isNotNull: true }),
  p50_turn_duration_ms: column.number(sql`t.p50_turn_duration_ms`),
  p99_turn_duration_ms: column.number(sql`t.p99_turn_duration_ms`),
};

const NAMES = Object.keys(THREAD);
const NEWEST_FIRST = [{ field: 'last_updated', direction: 'desc' }] as const;

const LAST_SIGN = sql`coalesce(c.ended_at, c.started_at)`;

/** Statistics of a thread over its turns `c`. `TOTALS` are cheap to aggregate; `DETAILS` must sort the turns. */
const TOTALS = sql`count(*)::int AS turn_count, min(c.started_at) AS start_time, max(${LAST_SIGN}) AS last_updated`;
const DETAILS = sql`
  (array_agg(c.id ORDER BY c.started_at, c.id))[1] AS first_turn_id,
  (array_agg(c.id ORDER BY ${LAST_SIGN} DESC, c.id))[1] AS last_turn_id,
  ${percentileOf(LATENCY_MS, 0.5)} AS p50_turn_duration_ms,
  ${percentileOf(LATENCY_MS, 0.99)} AS p99_turn_duration_ms`;
const STATISTICS = sql`${TOTALS}, ${DETAILS}`;

const fromTurns = (projectId: string) =>
  sql`FROM calls c WHERE ${visibleIn(projectId)} AND ${isTurn}`;

/**
 * Returns the rows of `threads` with their statistics, one look-up in the index for each. LATERAL and not a join: the
 * planner does not know how many marks exist, and might read every turn of the project.
 */
const withStatistics = (
  projectId: string,
  threads: Sql,
  statistics: Sql,
  isInside = sql`TRUE`,
) => sql`
  SELECT m.*, s.* FROM (${threads}) m CROSS JOIN LATERAL (
    SELECT ${statistics} ${fromTurns(projectId)} AND c.thread_id = m.thread_id AND ${unseen(isInside)}) s`;

export function threadsQuery(query: ThreadsQueryDto): Sql {
  const { project_id, filter, sort_by, after } = query;
  const sorts = sort_by?.length ? sort_by : NEWEST_FIRST;
  const order = orderBy(THREAD, sorts, 'thread_id');
  const position = { columns: THREAD, sorts, tieBreaker: 'thread_id' };
  const wanted = {
    isBehind: isAfter(after, position) ?? sql`TRUE`,
    parts: rangesAfter(after, position),
    rows: sql`${order} ${pageLimit(query.limit, query.offset)}`,
    needsDetails: sort_by?.some(({ field }) => field.endsWith('_duration_ms')) ?? false,
  };
  const threads = isStored(filter)
    ? currentThreads(project_id, filter ?? {}, wanted)
    : threadsInWindow(project_id, filter!, wanted);
  return sql`
    SELECT row_to_json(w)::text AS json FROM (
      SELECT ${select(THREAD, NAMES)} FROM (
        SELECT t.* FROM (${threads}) t ${order} ${page(query)}
      ) t) w`;
}

/** Returns true if stored statistics can be used. They leave out turns of other sources than production. */
const isStored = (filter: ThreadsQueryDto['filter']) =>
  !filter?.after_datetime &&
  !filter?.before_datetime &&
  (ofSources(filter?.sources)?.includes(PRODUCTION) ?? true);

/** Returns the sources that count, or null if all count. */
const ofSources = (sources: ThreadsFilterDto['sources']) =>
  sources?.length && SOURCES.some((source) => !sources.includes(source)) ? sources : null;

/**
 * A page of threads. `isBehind` matches the threads after its position `after`; `parts` are the ranges of these
 * threads. `rows` orders the threads, and limits them to the page and what comes before it. `needsDetails` is true if
 * the order depends on `DETAILS`.
 */
interface ThreadsPage {
  isBehind: Sql;
  parts: Sql[];
  rows: Sql;
  needsDetails: boolean;
}

/**
 * Computes statistics over the turns of a window or of some sources. Details are computed only for the threads on the
 * page, with the index of threads. The planner does not see the bounds, so it cannot read the window again for each
 * thread.
 */
function threadsInWindow(
  projectId: string,
  { after_datetime, before_datetime, thread_ids, sources }: ThreadsFilterDto,
  { isBehind, rows, needsDetails }: ThreadsPage,
): Sql {
  const isInside = allOf(
    after_datetime && sql`c.started_at > ${after_datetime}::timestamptz`,
    before_datetime && sql`c.started_at < ${before_datetime}::timestamptz`,
    isOneOf(sql`c.source`, ofSources(sources)),
  );
  const grouped = (statistics: Sql) => sql`
    SELECT t.* FROM (
      SELECT c.thread_id, ${statistics} ${fromTurns(projectId)} AND ${allOf(isInside, isOneOf(sql`c.thread_id`, thread_ids))}
      GROUP BY c.thread_id) t WHERE ${isBehind} ${rows}`;
  return needsDetails
    ? grouped(STATISTICS)
    : withStatistics(projectId, grouped(TOTALS), DETAILS, isInside);
}

/**
 * Combines stored and computed statistics. Statistics are computed for threads with a mark, and for threads with turns
 * of sources that do not count. One statement sees turns, marks and statistics at the same moment. So the answer is
 * exact, however far behind the refresher is.
 */
function currentThreads(
  projectId: string,
  { thread_ids, sources }: ThreadsFilterDto,
  { isBehind, parts, rows, needsDetails }: ThreadsPage,
): Sql {
  const counted = ofSources(sources);
  const others = counted && turnsOfOthers(projectId, counted);
  const marked = sql`SELECT DISTINCT m.thread_id FROM thread_marks m WHERE ${allOf(
    sql`m.project_id = ${projectId}`,
    isOneOf(sql`m.thread_id`, thread_ids),
  )}${others ? sql` UNION SELECT c.thread_id ${others} AND ${allOf(isOneOf(sql`c.thread_id`, thread_ids))}` : sql``}`;
  const isCounted = allOf(isOneOf(sql`c.source`, counted));
  const of = (threads: Sql, statistics: Sql) =>
    withStatistics(projectId, threads, statistics, isCounted);
  const computed = (statistics: Sql) =>
    sql`SELECT t.* FROM (${of(marked, statistics)}) t WHERE t.turn_count > 0 AND ${isBehind} ${rows}`;
  const stored = parts.map(
    (isBehindToo) => sql`
    (SELECT ${STORED} FROM threads t
      WHERE ${allOf(sql`t.project_id = ${projectId}`, isOneOf(sql`t.thread_id`, thread_ids), isBehindToo)}
      AND ${allOf(hasNoMark(projectId), others && isInNone(sql`t.thread_id`, sql`c.thread_id`, others))}
      ${rows})`,
  );
  return sql`${join(stored, ' UNION ALL ')}
    UNION ALL
    (${needsDetails ? computed(STATISTICS) : of(computed(TOTALS), DETAILS)})`;
}

/** Selects turns of sources that do not count. Production must count. */
const turnsOfOthers = (projectId: string, counted: readonly string[]) =>
  sql`${fromTurns(projectId)} AND c.source <> 'production' AND c.source <> ALL(${counted}::text[])`;

const hasNoMark = (projectId: string) =>
  isInNone(
    sql`t.thread_id`,
    sql`m.thread_id`,
    sql`FROM thread_marks m WHERE m.project_id = ${projectId}`,
  );

const STORED = sql`t.thread_id, t.turn_count, t.start_time, t.last_updated, t.first_turn_id, t.last_turn_id,
    t.p50_turn_duration_ms, t.p99_turn_duration_ms`;

/** Refreshing 5000 marked threads of ten turns takes 0.15 s. */
export const MARKED_THREADS: MarkedStatistics = {
  marks: sql`thread_marks`,
  lock: projectLock(0x74687264),
  atOnce: 5000,
  what: 'threads',
};

/**
 * Deletes at most `limit` marks, and returns their threads. The statement must begin after the lock is held. Otherwise
 * it could delete marks of changes that another refresh, which has not committed, does not see.
 */
export const marksTake = (projectId: string, limit: number) => sql<{
  taken: number;
  threads: string[];
}>`
  WITH taken AS (
    DELETE FROM thread_marks WHERE project_id = ${projectId} AND ctid = ANY(ARRAY(
      SELECT ctid FROM thread_marks WHERE project_id = ${projectId} ORDER BY thread_id LIMIT ${limit}::bigint))
    RETURNING thread_id)
  SELECT count(*)::int AS taken, coalesce(array_agg(DISTINCT thread_id), '{}') AS threads FROM taken`;

/** Stores statistics of those threads that have turns, and returns these threads. */
export const threadsStore = (projectId: string, threads: readonly string[]) => sql<{
  thread_id: string;
}>`
  INSERT INTO threads AS t (project_id, thread_id, turn_count, start_time, last_updated, first_turn_id, last_turn_id,
    p50_turn_duration_ms, p99_turn_duration_ms)
  SELECT ${projectId}, fresh.* FROM (
    ${withStatistics(projectId, sql`SELECT thread_id FROM unnest(${threads}::text[]) AS m (thread_id)`, STATISTICS)}) fresh
  WHERE turn_count > 0
  ON CONFLICT (project_id, thread_id) DO UPDATE SET turn_count = excluded.turn_count, start_time = excluded.start_time,
    last_updated = excluded.last_updated, first_turn_id = excluded.first_turn_id, last_turn_id = excluded.last_turn_id,
    p50_turn_duration_ms = excluded.p50_turn_duration_ms, p99_turn_duration_ms = excluded.p99_turn_duration_ms
  RETURNING thread_id`;

export const threadsDelete = (projectId: string, threads: readonly string[]) =>
  sql`DELETE FROM threads WHERE project_id = ${projectId} AND ${isListed(sql`thread_id`, threads)}`;

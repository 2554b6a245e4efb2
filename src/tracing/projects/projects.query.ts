// SQL: statistics of projects.
import { projectLock } from '../../platform/database/advisory-locks.js';
import type { MarkedStatistics } from '../../platform/database/marks-refresher.js';
import { column, type Columns, orderBy, page, select } from '../../platform/query/columns.js';
import { join, sql, type Sql } from '../../platform/query/sql.js';
import type { ProjectsQueryDto, ProjectStatsDto } from './projects.dto.js';

const PROJECT: Columns = {
  project_id: column.text(sql`t.project_id`, { isNotNull: true }),
  call_count: column.number(sql`t.call_count`, { isNotNull: true }),
  bytes: column.number(sql`t.bytes`, { isNotNull: true }),
  last_activity: column.time(sql`t.last_activity`, { isNotNull: true }),
};
const LATEST_FIRST = [{ field: 'last_activity', direction: 'desc' }] as const;
const PAGE = 100;

/** Applying one mark takes microseconds. */
export const MARKED_PROJECTS: MarkedStatistics = {
  marks: sql`project_marks`,
  lock: projectLock(0x70726f6a),
  atOnce: 10_000,
  what: 'counts of projects',
};

/**
 * Reads the row of a project, its marks, and those of its calls (docs/adr/0031-call-statistics.md). It is one
 * statement, so that all come from one snapshot.
 */
const projectCounts = (condition: (projectId: Sql) => Sql) => sql`
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE ${condition(sql`p.project_id`)}
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE ${condition(sql`m.project_id`)}
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE ${condition(sql`m.project_id`)}`;

/** Matches projects that scopes cover. `0` is the character after `/`, and ends the range of an entity's names. */
const isCovered = (scopes: readonly string[]) => (projectId: Sql) => {
  if (scopes.includes('*')) return sql`TRUE`;
  const entities = scopes
    .filter((scope) => scope.endsWith('/*'))
    .map((scope) => scope.slice(0, -2));
  return sql`(${join(
    [
      sql`${projectId} = ANY(${scopes}::text[])`,
      ...entities.map(
        (entity) => sql`(${projectId} > ${`${entity}/`} AND ${projectId} < ${`${entity}0`})`,
      ),
    ],
    ' OR ',
  )})`;
};

export const projectsQuery = (
  scopes: readonly string[],
  { sort_by, limit, offset }: ProjectsQueryDto,
) => sql<{ json: string }>`
  SELECT row_to_json(w)::text AS json FROM (
    SELECT ${select(PROJECT, Object.keys(PROJECT))} FROM (
      SELECT s.project_id, sum(s.call_count)::bigint AS call_count, sum(s.bytes)::bigint AS bytes,
        max(s.last_activity) AS last_activity
      FROM (${projectCounts(isCovered(scopes))}) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
    ${orderBy(PROJECT, sort_by?.length ? sort_by : LATEST_FIRST, 'project_id')}
    ${page({ limit: limit ?? PAGE, offset })}) w`;

export const callCountQuery = (projectId: string) => sql<{ count: string }>`
  SELECT coalesce(sum(s.call_count), 0)::bigint AS count
  FROM (${projectCounts((id) => sql`${id} = ${projectId}`)}) s`;

/** Selects those of the projects that store something. */
export const storingProjects = (ids: readonly string[]) => sql<{ project_id: string }>`
  SELECT DISTINCT s.project_id FROM (${projectCounts((id) => sql`${id} = ANY(${ids}::text[])`)}) s WHERE s.row_count > 0`;

export const projectBytes = (ids: readonly string[]) => sql<{ scope: string; bytes: number }>`
  SELECT s.project_id AS scope, sum(s.bytes)::float8 AS bytes
  FROM (${projectCounts((id) => sql`${id} = ANY(${ids}::text[])`)}) s
  GROUP BY s.project_id HAVING sum(s.row_count) > 0`;

/** Sums up the projects of each entity. `scopes` are `<entity>/*`. */
export const entityBytes = (scopes: readonly string[]) => sql<{ scope: string; bytes: number }>`
  SELECT split_part(s.project_id, '/', 1) || '/*' AS scope, sum(s.bytes)::float8 AS bytes
  FROM (${projectCounts(isCovered(scopes))}) s GROUP BY 1`;

/** The sums of a project's marks; null without marks. */
export interface MarkSums {
  taken: number;
  row_count: string;
  call_count: string;
  bytes: string;
  written_bytes: string;
  made_at: string;
}

/** Deletes at most `limit` marks of a project, and returns their sums. */
export const marksTake = (projectId: string, limit: number) => sql<MarkSums>`
  WITH taken AS (
    DELETE FROM project_marks WHERE project_id = ${projectId} AND id IN (
      SELECT id FROM project_marks WHERE project_id = ${projectId} ORDER BY id LIMIT ${limit}::bigint)
    RETURNING row_count, call_count, bytes, written_bytes, made_at)
  SELECT count(*)::int AS taken, sum(row_count)::text AS row_count, sum(call_count)::text AS call_count,
    sum(bytes)::text AS bytes, sum(written_bytes)::text AS written_bytes, max(made_at)::text AS made_at FROM taken`;

export const projectAdd = (projectId: string, sums: MarkSums) => sql`
  INSERT INTO projects AS p (project_id, row_count, call_count, bytes, last_activity)
  VALUES (${projectId}, ${sums.row_count}::bigint, ${sums.call_count}::bigint, ${sums.bytes}::bigint, ${sums.made_at}::timestamptz)
  ON CONFLICT (project_id) DO UPDATE SET row_count = p.row_count + excluded.row_count,
    call_count = p.call_count + excluded.call_count, bytes = p.bytes + excluded.bytes,
    last_activity = greatest(p.last_activity, excluded.last_activity)`;

/** Deletes the row of an empty project, unless bytes are still to be counted. */
export const emptyDelete = (projectId: string) =>
  sql`DELETE FROM projects WHERE project_id = ${projectId} AND row_count = 0 AND bytes = 0`;

/** The calls and bytes that a write adds, and its time, as texts. */
export interface AddedTotals {
  calls: string;
  bytes: string;
  at: string;
}

export const markInsert = (projectId: string, { calls, bytes, at }: AddedTotals) => sql`
  INSERT INTO project_marks (project_id, row_count, call_count, bytes, made_at)
  VALUES (${projectId}, ${calls}::bigint, ${calls}::bigint, ${bytes}::bigint, ${at}::timestamptz)`;

/**
 * Reads the bytes that a project stores, by kind, for `/project/stats`. It sums up columns with sizes, and reads no
 * values.
 */
export function sizesQuery(asked: ProjectStatsDto): Sql<{ json: string }> {
  const { project_id } = asked;
  const sum = (isAsked: boolean | null | undefined, bytes: Sql, table: Sql) =>
    isAsked === false
      ? sql`0`
      : sql`(SELECT coalesce(sum(${bytes}), 0)::bigint FROM ${table} t WHERE t.project_id = ${project_id})`;
  const { include_table_storage_size: hasTables } = asked;
  const tables = sum(hasTables, sql`pg_column_size(t.row_digests)`, sql`tables`);
  const rows = sum(hasTables, sql`pg_column_size(t.val)`, sql`table_rows`);
  return sql`
    SELECT row_to_json(s)::text AS json FROM (SELECT
      ${sum(asked.include_trace_storage_size, sql`t.bytes`, sql`call_slots`)} AS trace_storage_size_bytes,
      ${sum(asked.include_object_storage_size, sql`t.size_bytes`, sql`object_versions`)} AS objects_storage_size_bytes,
      ${tables} + ${rows} AS tables_storage_size_bytes,
      ${sum(asked.include_file_storage_size, sql`t.size_bytes`, sql`files`)} AS files_storage_size_bytes) s`;
}

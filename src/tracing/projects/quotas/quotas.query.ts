// SQL: counters that processes share, and lists over them.
import { column, type Columns, orderBy, select } from '../../../platform/query/columns.js';
import { allOf, anyOf, identifier, join, sql, type Sql } from '../../../platform/query/sql.js';

/** Stands for a whole entity in the place of a project. No project has this name. */
export const ALL_PROJECTS = '*';

export const LIMITS = [
  'stored_bytes',
  'written_bytes_per_day',
  'calls_per_day',
  'requests_per_minute',
] as const;
export type QuotaName = (typeof LIMITS)[number];
export type QuotaLimits = Record<QuotaName, number | null>;

export const COUNTERS = [
  'requests',
  'refused_requests',
  'received_bytes',
  'written_bytes',
  'calls',
  'slot_ms',
] as const;
export type UseCounters = Record<(typeof COUNTERS)[number], number>;

interface ScopeName {
  entity: string;
  project: string;
}
export type ScopeUse = ScopeName & UseCounters;
export type StoredQuota = ScopeName & QuotaLimits;

const listed = (names: readonly string[], toSql: (name: Sql) => Sql) =>
  join(names.map((name) => toSql(identifier(name))));
const numbers = (table: Sql, names: readonly string[]) =>
  listed(names, (name) => sql`${table}.${name}::float8 AS ${name}`);

/** Adds to the counters of a day, in an order that all processes share, and returns the new sums. */
export const usesAdd = (day: string, uses: readonly ScopeUse[]) => sql<ScopeUse>`
  INSERT INTO project_uses AS u (day, entity, project, ${listed(COUNTERS, (name) => name)})
  SELECT ${day}::date, r.entity, r.project, ${listed(COUNTERS, (name) => sql`r.${name}`)}
  FROM json_to_recordset(${JSON.stringify(uses)}::json)
    AS r (entity text, project text, ${listed(COUNTERS, (name) => sql`${name} bigint`)})
  ORDER BY r.entity COLLATE "C", r.project COLLATE "C"
  ON CONFLICT (day, entity, project) DO UPDATE SET
    ${listed(COUNTERS, (name) => sql`${name} = u.${name} + excluded.${name}`)}
  RETURNING u.entity, u.project, ${numbers(sql`u`, COUNTERS)}`;

export const quotaSet = ({ entity, project, ...limits }: StoredQuota) => sql`
  INSERT INTO quotas (entity, project, ${listed(LIMITS, (name) => name)})
  VALUES (${entity}, ${project}, ${join(LIMITS.map((name) => sql`${limits[name]}::bigint`))})
  ON CONFLICT (entity, project) DO UPDATE SET ${listed(LIMITS, (name) => sql`${name} = excluded.${name}`)}`;

/** Counts the other projects of the entity that have quotas. */
export const otherQuotasCount = ({ entity, project }: ScopeName) => sql<{ others: number }>`
  SELECT count(*)::int AS others FROM quotas q
  WHERE q.entity = ${entity} AND q.project NOT IN (${project}, ${ALL_PROJECTS})`;

export const quotaDelete = ({ entity, project }: ScopeName) => sql`
  DELETE FROM quotas q WHERE q.entity = ${entity} AND q.project = ${project}`;

/** Returns the quotas of entities and of their projects. */
export const quotasOf = (entities: readonly string[]) => sql<StoredQuota>`
  SELECT q.entity, q.project, ${numbers(sql`q`, LIMITS)} FROM quotas q
  WHERE q.entity = ANY(${entities}::text[])`;

/** Returns what scopes used on a day. */
export const usesOf = (day: string, scopes: readonly ScopeName[]) => sql<ScopeUse>`
  SELECT u.entity, u.project, ${numbers(sql`u`, COUNTERS)} FROM project_uses u
  JOIN json_to_recordset(${JSON.stringify(scopes)}::json) AS s (entity text, project text)
    ON u.entity = s.entity AND u.project = s.project
  WHERE u.day = ${day}::date`;

const ROW: Columns = {
  scope: column.text(sql`t.scope`, { isNotNull: true }),
  ...Object.fromEntries(
    COUNTERS.map((name) => [name, column.number(sql`t.${identifier(name)}`, { isNotNull: true })]),
  ),
  ...Object.fromEntries(
    LIMITS.map((name) => [`limit_${name}`, column.number(sql`t.${identifier(`limit_${name}`)}`)]),
  ),
};

/** Matches what keys with these scopes administer. A whole entity needs a scope that covers all its projects. */
function isCovered(scopes: readonly string[]): Sql {
  if (scopes.includes('*')) return sql`TRUE`;
  return anyOf(
    scopes.map((scope) => {
      const [entity, project] = scope.split('/') as [string, string];
      return allOf(
        sql`u.entity = ${entity}`,
        project !== ALL_PROJECTS && sql`u.project = ${project}`,
      );
    }),
  );
}

interface UsesRequest {
  day: string;
  sort_by: readonly { field: string; direction: 'asc' | 'desc' }[];
  limit: number;
}

/** Lists what scopes used on a day, with their quotas. */
export const usesList = (scopes: readonly string[], { day, sort_by, limit }: UsesRequest) => sql<
  { scope: string } & UseCounters & Record<`limit_${QuotaName}`, number | null>
>`
  SELECT ${select(ROW, Object.keys(ROW))} FROM (
    SELECT u.entity || '/' || u.project AS scope,
      ${listed(COUNTERS, (name) => sql`coalesce(d.${name}, 0)::float8 AS ${name}`)},
      ${join(LIMITS.map((name) => sql`q.${identifier(name)}::float8 AS ${identifier(`limit_${name}`)}`))}
    FROM (SELECT d.entity, d.project FROM project_uses d WHERE d.day = ${day}::date
      UNION SELECT q.entity, q.project FROM quotas q) u
    LEFT JOIN project_uses d ON d.day = ${day}::date AND d.entity = u.entity AND d.project = u.project
    LEFT JOIN quotas q ON q.entity = u.entity AND q.project = u.project
    WHERE ${isCovered(scopes)}) t
  ${orderBy(ROW, sort_by, 'scope')} LIMIT ${limit}::bigint`;

/** Most entities that metrics name. */
export const LARGEST = 10;

/** Lists the entities with the most of each counter on a day. */
export const largestEntities = (day: string) =>
  sql<{
    counter: string;
    entity: string;
    value: number;
  }>`${join(
    COUNTERS.map(
      (
        name,
      ) => sql`(SELECT ${name} AS counter, u.entity, u.${identifier(name)}::float8 AS value FROM project_uses u
    WHERE u.day = ${day}::date AND u.project = ${ALL_PROJECTS} AND u.${identifier(name)} > 0
    ORDER BY u.${identifier(name)} DESC, u.entity LIMIT ${LARGEST}::bigint)`,
    ),
    ' UNION ALL ',
  )}`;

const KEPT_DAYS = 90;

export const oldUsesDelete = (day: string) => sql`
  DELETE FROM project_uses WHERE day < ${day}::date - ${KEPT_DAYS}::int`;

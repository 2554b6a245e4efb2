// SQL: a list of any size, filtered by the scopes of a key, as JSON text.
import { column, type Columns, orderBy, page, select } from '../query/columns.js';
import { allOf, isOneOf, sql, type Sql } from '../query/sql.js';
import type { AuditFilterDto, AuditQueryDto } from './audit.dto.js';

const EVENT: Columns = {
  id: column.text(sql`a.id`, { isNotNull: true }),
  created_at: column.time(sql`a.created_at`, { isNotNull: true }),
  action: column.text(sql`a.action`, { isNotNull: true }),
  project_id: column.text(sql`nullif(a.project_id, '')`),
  key_id: column.text(sql`a.key_id`),
  user_id: column.text(sql`a.user_id`),
  user: column.text(sql`a.user_name`, { isNotNull: true }),
  target: column.text(sql`a.target`),
  detail: column.json(sql`a.detail`, sql`false`),
};
/** Columns to sort by. An id is a `uuid`, whose order equals that of its text. */
const SORTABLE: Columns = {
  created_at: EVENT['created_at']!,
  id: column.number(sql`a.id`, { isNotNull: true }),
};

const NEWEST_FIRST = [
  { field: 'created_at', direction: 'desc' },
  { field: 'id', direction: 'desc' },
] as const;

/** Selects the events within the scopes, each as JSON text. By default the newest come first. */
export function eventsQuery(request: AuditQueryDto, scopes: readonly string[]): Sql {
  const { project_id, filter, sort_by } = request;
  return sql`SELECT row_to_json(t)::text AS json FROM (
    SELECT ${select(EVENT, Object.keys(EVENT))} FROM audit_events a
    WHERE ${allOf(
      project_id && sql`a.project_id = ${project_id}`,
      isShown(scopes),
      filter && isFiltered(filter),
    )}
    ${orderBy(SORTABLE, sort_by?.length ? sort_by : NEWEST_FIRST, 'id')}
    ${page(request)}) t`;
}

const isFiltered = (filter: AuditFilterDto): Sql =>
  allOf(
    isOneOf(sql`a.action`, filter.actions),
    isOneOf(sql`a.key_id::text`, filter.key_ids),
    isOneOf(sql`a.user_name`, filter.users),
    isOneOf(sql`a.user_id::text`, filter.user_ids),
    isOneOf(sql`a.target`, filter.targets),
    filter.after && sql`a.created_at > ${filter.after}::timestamptz`,
    filter.before && sql`a.created_at < ${filter.before}::timestamptz`,
  );

/**
 * Tests that the scopes reach the event's project. An event about a key needs scopes that cover all scopes of that key.
 */
function isShown(scopes: readonly string[]): Sql | null {
  if (scopes.includes('*')) return null;
  const covers = (inner: Sql) =>
    sql`(${inner} = ANY(${scopes}::text[]) OR split_part(${inner}, '/', 1) || '/*' = ANY(${scopes}::text[]))`;
  return sql`(CASE WHEN a.project_id <> '' THEN ${covers(sql`a.project_id`)}
    ELSE a.scopes IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(a.scopes) s (scope) WHERE NOT ${covers(sql`s.scope`)}) END)`;
}

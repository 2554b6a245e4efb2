import { pricesOfCall } from '../../pricing/prices.query.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { wireTime } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { columnsOfCall, visibleIn } from '../../visible-calls.js';
import { withDescendants, isMatch, type ReadAhead } from '../read/calls.query.js';
import type { CallsUsageDto, TraceUsageDto } from './call-usage.dto.js';

export const MAX_USAGE_BYTES = 1024 * 1024;

export const USAGE_COLUMNS = [
  'id',
  'parent_id',
  'trace_id',
  'linked_call_id',
  'response_id',
  'counts_gross',
] as const;

/** Selects the spans that ran in these calls, in traces of their own. */
const linkedTo = (projectId: string, calls: Sql, limit: number) => sql`
  SELECT s.* FROM (${calls}) l ${lookedUp(
    sql`SELECT c.* FROM calls c WHERE ${visibleIn(projectId)} AND c.linked_call_id = l.id`,
    's',
  )} LIMIT ${limit}::bigint`;

/** Selects calls, their descendants, and the spans that ran in them. At most `limit` calls and as many spans. */
export function descendantUsage(request: CallsUsageDto, limit: number): Sql {
  const { project_id, call_ids } = request;
  const isSeen = visibleIn(project_id);
  return usageRows(
    sql`
      WITH ${withDescendants(call_ids, isSeen)}, found AS MATERIALIZED (
        SELECT c.* FROM calls c
        WHERE ${isSeen} AND c.id = ANY(ARRAY(SELECT id FROM family LIMIT ${limit}::bigint)))
      ${withLinked(project_id, limit)}`,
    request,
  );
}

/** Selects calls that match, and the spans that ran in them. At most `limit` calls and as many spans. */
export const matchingUsage = (request: TraceUsageDto, limit: number, ahead?: ReadAhead): Sql =>
  usageRows(
    sql`
      WITH found AS MATERIALIZED (
        SELECT c.* FROM calls c WHERE ${allOf(visibleIn(request.project_id), isMatch(request, ahead))} LIMIT ${limit}::bigint)
      ${withLinked(request.project_id, limit)}`,
    request,
  );

const withLinked = (projectId: string, limit: number) => sql`
  SELECT f.*, false AS is_linked FROM found f
  UNION ALL
  SELECT c.*, true FROM (${linkedTo(projectId, sql`SELECT f.id FROM found f`, limit)}) c
  WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = c.id)`;

const usageRows = (
  calls: Sql,
  { project_id, include_costs }: { project_id: string; include_costs?: boolean | null },
) => sql`
  SELECT row_to_json(t)::text FROM (
    SELECT ${columnsOfCall(USAGE_COLUMNS)}, c.is_linked, ${wireTime(sql`c.started_at`)} AS started_at, ${wireTime(sql`c.ended_at`)} AS ended_at, c.ended_at IS NULL AS is_running,
      octet_length(c.usage::text) > ${MAX_USAGE_BYTES} AS is_large,
      CASE WHEN octet_length(c.usage::text) <= ${MAX_USAGE_BYTES} THEN c.usage END AS usage,
      ${include_costs ? pricesOfCall(project_id) : sql`NULL`} AS records
    FROM (${calls}) c
  ) t`;

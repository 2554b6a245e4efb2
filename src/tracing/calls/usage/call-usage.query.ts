// SQL: statistics.
import { pricesOfCall } from '../../costs/costs.service.js';
import { wireTime } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import { withFamily, isMatch } from '../read/calls.query.js';
import type { CallsUsageDto, TraceUsageDto } from './call-usage.dto.js';

/** Bytes of the usage of a call that is read. */
export const MAX_USAGE_BYTES = 1024 * 1024;

/** Calls and their descendants, at most `limit` of them. */
export function familyUsage(request: CallsUsageDto, limit: number): Sql {
  const { project_id, call_ids } = request;
  const isSeen = visibleIn(project_id);
  return usageRows(
    sql`
      WITH ${withFamily(call_ids, isSeen)}
      SELECT c.* FROM calls c
      WHERE ${isSeen} AND c.id = ANY(ARRAY(SELECT id FROM family LIMIT ${limit}::bigint))`,
    request,
  );
}

/** Calls that match, at most `limit` of them. */
export const matchingUsage = (request: TraceUsageDto, limit: number): Sql =>
  usageRows(
    sql`SELECT c.* FROM calls c WHERE ${allOf(visibleIn(request.project_id), isMatch(request))} LIMIT ${limit}::bigint`,
    request,
  );

/** The columns read of each call, as JSON text. */
const usageRows = (
  calls: Sql,
  { project_id, include_costs }: { project_id: string; include_costs?: boolean | null },
) => sql`
  SELECT row_to_json(t)::text FROM (
    SELECT c.id, c.parent_id, c.trace_id, c.response_id, c.counts_gross, ${wireTime(sql`c.started_at`)} AS started_at, c.ended_at IS NULL AS is_running,
      octet_length(c.usage::text) > ${MAX_USAGE_BYTES} AS is_large,
      CASE WHEN octet_length(c.usage::text) <= ${MAX_USAGE_BYTES} THEN c.usage END AS usage,
      ${include_costs ? pricesOfCall(project_id) : sql`NULL`} AS records
    FROM (${calls}) c
  ) t`;

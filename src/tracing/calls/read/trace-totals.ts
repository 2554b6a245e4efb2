import { pricesOfCall } from '../../pricing/prices.query.js';
import { ownUsage } from '../../usage/own-usage.query.js';
import { wireTime } from '../../../platform/query/columns.js';
import { computedOnce, lookedUp } from '../../../platform/query/plans.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import { isRoot, visibleIn } from '../../visible-calls.js';
import { endUserOfTrace } from './end-user.js';
import { countedUsage } from '../usage/counted-usage.query.js';
import { detailSums } from '../usage/token-details.query.js';

/**
 * Limits for one trace: number of calls with usage that are summed up, and number of calls that are read to find a
 * user.
 */
const MAX_CALLS = 10_000;
const MAX_LOOKED_AT = 50;

/** Selects the calls of the trace of the root `r`, and the spans of other traces that ran in them. */
const callsWithUsage = (projectId: string): Sql => sql`
  SELECT c.* FROM (
    SELECT c.* FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = r.trace_id AND c.usage IS NOT NULL
    UNION ALL
    SELECT s.* FROM (SELECT c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = r.trace_id
        LIMIT ${MAX_CALLS}::bigint) t ${lookedUp(
          sql`SELECT c.* FROM calls c WHERE ${visibleIn(projectId)} AND c.linked_call_id = t.id
            AND c.usage IS NOT NULL AND c.trace_id <> r.trace_id`,
          's',
        )}) c LIMIT ${MAX_CALLS}::bigint`;

/** Matches the calls `d` that may repeat a call of this trace. Calls of other traces count for their own trace. */
const inTrace = (projectId: string): Sql => sql`(d.trace_id = r.trace_id OR EXISTS (
  SELECT FROM calls t WHERE t.project_id = ${projectId} AND t.id = d.linked_call_id AND t.trace_id = r.trace_id))`;

/**
 * Selects the usage of a trace in the format of `calls.usage`. `told_by` is the one call that reports all of it, if
 * there is one.
 */
const traceUsage = (projectId: string): Sql => sql`
  SELECT json_agg(json_build_object('llm_id', t.llm_id, 'prompt_tokens', t.prompt, 'completion_tokens', t.completion,
      'cache_read_input_tokens', t.read, 'cache_creation_input_tokens', t.created, 'requests', t.requests, 'details', t.details)) AS usage,
    CASE WHEN min(t.first_id) = max(t.last_id) THEN min(t.first_id) END AS told_by
  FROM (
    SELECT u.llm_id, sum(u.prompt_tokens)::float8 AS prompt, sum(u.completion_tokens)::float8 AS completion,
      sum(u.cache_read_input_tokens)::float8 AS read, sum(u.cache_creation_input_tokens)::float8 AS created, count(*) AS requests,
      min(u.id) AS first_id, max(u.id) AS last_id, ${detailSums(sql`u.details`)} AS details
    FROM (${countedUsage(projectId, callsWithUsage(projectId), sql`1 AS one`, inTrace(projectId))}) u GROUP BY u.llm_id) t`;

/**
 * Selects totals of the traces of the roots in the table `listed`, once for each trace: many roots may be in one trace.
 */
export const totalsOfTraces = (projectId: string): Sql => sql`
  SELECT r.trace_id, t.usage, t.told_by, ${endUserOfTrace(projectId, MAX_LOOKED_AT)} AS user_name
  FROM (SELECT DISTINCT c.trace_id FROM listed c WHERE ${isRoot(projectId)}) r ${lookedUp(traceUsage(projectId), 't')}`;

/**
 * Selects the totals of the trace of the root `c`, as `total`. The usage is NULL if the root reports all of it as its
 * own.
 */
export const traceTotal = (projectId: string): Sql =>
  sql`LATERAL ${computedOnce(
    sql`SELECT CASE WHEN t.told_by IS DISTINCT FROM c.id OR ${ownUsage} IS NULL THEN t.usage END AS usage, t.user_name
    FROM (SELECT) one LEFT JOIN totals t ON t.trace_id = c.trace_id AND ${isRoot(projectId)}`,
    'total',
  )}`;

/**
 * Returns the values from which `costsOfCall` computes the costs of the trace, at the prices of the start of the root.
 */
export const totalCosts = (projectId: string): Sql[] => [
  sql`(SELECT ${pricesOfCall(projectId)} FROM ${computedOnce(sql`SELECT total.usage, c.started_at`, 'c')})`,
  wireTime(sql`c.started_at`),
  sql`total.usage::text`,
  sql`'false'`,
];

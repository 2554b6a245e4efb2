// SQL: statistics.
import { lookedUp, unseen } from '../../../platform/query/plans.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';

/** So many of the earlier calls that tell of a response are looked at. Clients make a handful of them. */
const MAX_EARLIER = 20;

/**
 * Whether the usage of the call `c` is told by another call too, which counts it: one that began earlier and has the same
 * response of the provider, in another trace or beside it. A call above or below it in its trace is none: what parents repeat is
 * subtracted. Where so many earlier calls have the response, one of them counts it in any case.
 */
const isRepeated = (projectId: string) => sql`(c.response_id IS NOT NULL AND EXISTS (
  SELECT FROM (
    SELECT d.trace_id, d.parent_id, row_number() OVER (ORDER BY d.started_at, d.id) AS place FROM calls d
    WHERE d.project_id = ${projectId} AND d.response_id = c.response_id
      AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND (d.started_at, d.id) < (c.started_at, c.id)
    ORDER BY d.started_at, d.id LIMIT ${MAX_EARLIER}::bigint) d
  WHERE d.trace_id <> c.trace_id OR d.parent_id IS NOT DISTINCT FROM c.parent_id OR d.place = ${MAX_EARLIER}::bigint))`;

/** Whether the call `c` tells usage that no other call counts. */
export const saysUsage = (projectId: string) =>
  sql`(c.usage IS NOT NULL AND NOT ${isRepeated(projectId)})`;

/**
 * The usage that calls add to that of other calls: rows of columns of each call, `llm_id` and what `skein_usage` answers.
 * Of the input tokens and of the output tokens of a model a call adds what it says beyond its nearest descendants that
 * say anything, since parents repeat the usage of their children, and nothing where one of these tells of the same response:
 * docs/adr/0057-usage-with-descendants.md. Each call is looked at as itself, and at most once below another.
 */
export const countedUsage = (projectId: string, calls: Sql, columns: Sql): Sql => sql`
  WITH RECURSIVE own AS MATERIALIZED (
    SELECT c.id, c.trace_id, c.response_id, ${columns}, u.llm_id, u.unknown_kinds, u.input_tokens AS said_input,
      u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read, u.cache_creation_input_tokens AS said_created
    FROM (${calls}) c CROSS JOIN LATERAL skein_usage(c.usage, c.counts_gross) u
    WHERE NOT ${isRepeated(projectId)}
  ), walk AS (
    SELECT DISTINCT o.id AS owner, o.response_id, o.id, o.trace_id, false AS says, false AS is_same FROM own o
    UNION ALL
    SELECT w.owner, w.response_id, c.id, c.trace_id, c.says, c.says AND c.response_id = w.response_id FROM walk w ${lookedUp(
      sql`SELECT c.id, c.trace_id, c.response_id, ${saysUsage(projectId)} AS says FROM calls c
      WHERE ${visibleIn(projectId)} AND c.parent_id = w.id AND c.id <> w.owner AND ${unseen(sql`c.trace_id = w.trace_id`)}`,
      'c',
    )}
    WHERE NOT w.says
  ), below AS MATERIALIZED (
    SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
      sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created
    FROM walk w ${lookedUp(
      sql`SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = ${projectId} AND c.id = w.id`,
      'c',
    )}
    CROSS JOIN LATERAL skein_usage(c.usage, c.counts_gross) u
    WHERE w.says GROUP BY 1, 2
  ), tokens AS (
    SELECT o.*, greatest(o.said_input - coalesce(b.input, 0), 0) AS input_tokens,
      greatest(o.said_output - coalesce(b.output, 0), 0) AS completion_tokens,
      greatest(o.said_read - coalesce(b.read, 0), 0) AS read, greatest(o.said_created - coalesce(b.created, 0), 0) AS created
    FROM own o LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
    WHERE (b.owner IS NULL OR o.said_input > b.input OR o.said_output > b.output)
      AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND w.is_same)
  ), cached AS (
    SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
      least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens AS prompt_tokens FROM cached c`;

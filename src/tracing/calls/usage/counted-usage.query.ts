import { lookedUp, unseen } from '../../../platform/query/plans.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { addsUp, usageRows } from '../../usage/own-usage.query.js';
import { visibleIn } from '../../visible-calls.js';
import { MADE_ID_PREFIX, TWIN_ID_PREFIX } from '../../conventions/response-id.js';
import { detailsLeft, detailSums } from './token-details.query.js';

/**
 * Limits in time for two calls with one response id that report the same request. The later call must begin at most
 * `GRACE_SECONDS` after the end of the earlier one, and at most `REACH_MINUTES` after its start. Ollama counts its ids
 * up to 998 and then begins again.
 */
export const GRACE_SECONDS = 5;
export const REACH_MINUTES = 10;
const GRACE = sql`make_interval(secs => ${GRACE_SECONDS}::float8)`;
const REACH = sql`make_interval(mins => ${REACH_MINUTES}::int)`;

/**
 * Maximum number of calls with the same response that are checked before a call, and after it. Clients make only a few.
 */
export const MAX_NEAR = 20;

/** Maximum number of calls beginning within a call that are checked for a sibling that reports the same request. */
export const MAX_INSIDE = 200;

/** True if the response id names no response: `MADE_ID_PREFIX`. */
const isMade = sql`c.response_id LIKE ${`${MADE_ID_PREFIX}%`}`;

/** True if the call `c` reports exactly one response, and so no request of a call below it. */
const hasOneResponse = sql`(c.response_id IS NOT NULL AND NOT ${isMade} AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1')`;

/** Parts around the name of a model: the provider, and the suffix that stands for the date of the newest version. */
export const MODEL_AFFIXES = /^.*\/|-latest$/;
/** Name that the doors use for an unknown model. */
export const UNKNOWN_MODEL = 'unknown';

const tokensOf = (call: Sql) => sql`(SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM ${usageRows(call)} u)`;

const endOf = (call: Sql) =>
  sql`least(greatest(${call}.started_at, ${call}.ended_at) + ${GRACE}, ${call}.started_at + ${REACH})`;

/**
 * True if another call reports the usage of the call `c` too, and counts it. That call has the same response, as many
 * tokens, and is close in time.
 * One call counts the usage for all calls that report it. It lies in the trace that began first, and there it is the
 * call that began last before other traces reported the usage, because it lies deepest. A call that sums up other calls
 * counts the usage only if all calls that report it are sums.
 */
function isRepeated(projectId: string, scope: Sql): Sql {
  const near = sql`SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
    WHERE ${allOf(
      sql`d.project_id = ${projectId} AND d.response_id = c.response_id AND d.op_name IS NOT NULL
      AND d.deleted_at IS NULL AND d.usage IS NOT NULL`,
      scope,
    )}`;
  const isSame = sql`${tokensOf(sql`d`)} = ${tokensOf(sql`c`)}`;
  const earlier = sql`(${near} AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - ${REACH}
    ORDER BY d.started_at DESC, d.id DESC LIMIT ${MAX_NEAR}::bigint) d WHERE ${endOf(sql`d`)} >= c.started_at AND ${isSame}`;
  const later = sql`(${near} AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= ${endOf(sql`c`)}
    ORDER BY d.started_at, d.id LIMIT ${MAX_NEAR}::bigint) d WHERE ${isSame}`;
  const [isSumHere, isSumThere] = [addsUp(), addsUp(sql`d`)];
  const isAlike = sql`NOT ${isMade} AND ${isSumThere} = ${isSumHere}`;
  const isBehind = sql`${isSumHere} AND NOT ${isSumThere}`;
  const inside = sql`(SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
    WHERE ${allOf(sql`d.project_id = ${projectId} AND d.op_name IS NOT NULL AND d.deleted_at IS NULL`, scope)}
      AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
    ORDER BY d.started_at, d.id LIMIT ${MAX_INSIDE}::bigint) d
    WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
      AND coalesce(d.response_id, '') NOT LIKE ${`${MADE_ID_PREFIX}%`} AND ${isSame}`;
  return sql`(c.response_id IS NOT NULL AND (
    (c.response_id LIKE ${`${TWIN_ID_PREFIX}%`} AND EXISTS (SELECT FROM ${inside})) OR
    EXISTS (SELECT FROM ${earlier} AND (${isBehind} OR (${isAlike} AND d.trace_id <> c.trace_id)))
    OR (${isSumHere} AND EXISTS (SELECT FROM ${later} AND ${isBehind}))
    OR coalesce((SELECT d.trace_id = c.trace_id FROM ${later} AND ${isAlike} ORDER BY d.started_at, d.id LIMIT 1), false)))`;
}

const stem = (model: Sql) => sql`regexp_replace(lower(${model}), ${MODEL_AFFIXES.source}, '', 'g')`;

/** True if two names may mean the same model: `gpt-4o` and `openai/gpt-4o-2024-08-06`, or if one of them is unknown. */
const areAlike = (
  one: Sql,
  other: Sql,
) => sql`(starts_with(${stem(one)}, ${stem(other)}) OR starts_with(${stem(other)}, ${stem(one)})
  OR ${UNKNOWN_MODEL} IN (${one}, ${other}))`;

const EVERYWHERE = sql`TRUE`;

/** True if the call `c` reports usage that no other call counts. */
const hasCountedUsage = (projectId: string, scope = EVERYWHERE) =>
  sql`(c.usage IS NOT NULL AND NOT ${isRepeated(projectId, scope)})`;

/** True if a change below the call `c` does not change what calls above it count. */
export const isWalkEnd = (projectId: string) =>
  sql`(${hasCountedUsage(projectId)} AND NOT ${hasOneResponse})`;

/**
 * Selects the usage that calls add to that of other calls. Rows have `columns` of each call, `llm_id`, and the columns
 * of `skein_detailed_usage`.
 * Parents repeat the usage of their children. So a call adds only those input and output tokens of a model that exceed
 * the ones of its nearest descendants with usage. It adds nothing if one of these reports the same response:
 * docs/adr/0057-usage-with-descendants.md.
 * Each call is read once as itself, and at most twice below others. `scope` is a condition on the calls `d` that may
 * repeat another one.
 */
export const countedUsage = (
  projectId: string,
  calls: Sql,
  columns: Sql,
  scope = EVERYWHERE,
): Sql => sql`
  WITH RECURSIVE own AS MATERIALIZED (
    SELECT c.id, c.trace_id, c.response_id, ${hasOneResponse} AS tells_one, ${addsUp()} AS is_sum, ${columns}, u.llm_id, u.unknown_kinds,
      u.input_tokens AS said_input, u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read,
      u.cache_creation_input_tokens AS said_created, u.details AS said_details
    FROM (${calls}) c CROSS JOIN LATERAL ${usageRows()} u
    WHERE NOT ${isRepeated(projectId, scope)}
  ), walk AS (
    SELECT DISTINCT o.id AS owner, CASE WHEN NOT o.is_sum THEN o.response_id END AS response_id, o.tells_one, o.id, o.trace_id, CASE WHEN o.tells_one THEN o.response_id END AS inside,
      true AS goes_on, false AS is_below, false AS is_same FROM own o
    UNION ALL
    SELECT w.owner, w.response_id, w.tells_one, c.id, c.trace_id,
      CASE WHEN c.says AND c.tells_one AND NOT w.tells_one THEN c.response_id ELSE w.inside END,
      NOT c.says OR (c.tells_one AND NOT w.tells_one),
      c.says AND CASE WHEN w.inside IS NULL THEN true WHEN w.tells_one THEN c.told IS NULL AND NOT c.is_sum
        ELSE c.is_sum OR (c.told IS NOT NULL AND c.told <> w.inside) END,
      c.says AND c.response_id = w.response_id
    FROM walk w ${lookedUp(
      sql`SELECT c.id, c.trace_id, c.response_id, CASE WHEN NOT ${isMade} THEN c.response_id END AS told,
        ${hasCountedUsage(projectId, scope)} AS says, ${hasOneResponse} AS tells_one, ${addsUp()} AS is_sum FROM calls c
      WHERE ${visibleIn(projectId)} AND c.parent_id = w.id AND c.id <> w.owner AND ${unseen(sql`c.trace_id = w.trace_id`)}`,
      'c',
    )}
    WHERE w.goes_on
  ), below AS MATERIALIZED (
    SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
      sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created,
      (${detailSums(sql`u.details`)})::bigint[] AS details
    FROM walk w ${lookedUp(
      sql`SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = ${projectId} AND c.id = w.id`,
      'c',
    )}
    CROSS JOIN LATERAL ${usageRows()} u
    WHERE w.is_below GROUP BY 1, 2
  ), totals AS (
    SELECT b.owner, min(b.llm_id) AS llm_id, count(*) = 1 AS is_one, sum(b.input) AS input, sum(b.output) AS output, sum(greatest(b.input - coalesce(o.said_input, 0), 0)) AS more_input,
      sum(greatest(b.output - coalesce(o.said_output, 0), 0)) AS more_output
    FROM below b LEFT JOIN own o ON o.id = b.owner AND o.llm_id = b.llm_id GROUP BY 1
  ), beyond AS (
    SELECT o.id, o.llm_id, b.owner IS NOT NULL OR o.is_sum AS is_told, greatest(o.said_input - coalesce(b.input, 0), 0) AS input,
      greatest(o.said_output - coalesce(b.output, 0), 0) AS output, greatest(o.said_read - coalesce(b.read, 0), 0) AS read,
      greatest(o.said_created - coalesce(b.created, 0), 0) AS created, b.details AS details_below,
      CASE WHEN o.is_sum THEN t.more_input ELSE 0 END AS more_input, CASE WHEN o.is_sum THEN t.more_output ELSE 0 END AS more_output,
      t.is_one AND count(*) OVER (PARTITION BY o.id) = 1 AND o.said_input = t.input AND o.said_output = t.output
        AND ${areAlike(sql`o.llm_id`, sql`t.llm_id`)} AS is_all
    FROM own o JOIN totals t ON t.owner = o.id LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
  ), remaining AS (
    SELECT y.*, greatest(y.input - greatest(y.more_input - (sum(y.input) OVER before - y.input), 0), 0)::bigint AS input_tokens,
      greatest(y.output - greatest(y.more_output - (sum(y.output) OVER before - y.output), 0), 0)::bigint AS completion_tokens
    FROM beyond y WHERE NOT y.is_all AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = y.id AND w.is_same)
    WINDOW before AS (PARTITION BY y.id ORDER BY y.llm_id ROWS UNBOUNDED PRECEDING)
  ), tokens AS (
    SELECT o.*, o.said_input AS input_tokens, o.said_output AS completion_tokens, o.said_read AS read, o.said_created AS created,
      NULL::bigint[] AS details_below
    FROM own o WHERE NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND (w.is_below OR w.is_same))
    UNION ALL
    SELECT o.*, r.input_tokens, r.completion_tokens, r.read, r.created, r.details_below
    FROM own o JOIN remaining r ON r.id = o.id AND r.llm_id = o.llm_id
    WHERE NOT r.is_told OR r.input_tokens > 0 OR r.completion_tokens > 0
  ), cached AS (
    SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
      least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, ${PROMPT_LEFT} AS prompt_tokens, ${detailsLeft(
    sql`c.said_details`,
    sql`c.details_below`,
    {
      prompt_tokens: PROMPT_LEFT,
      completion_tokens: sql`c.completion_tokens`,
      cache_read_input_tokens: sql`c.cache_read_input_tokens`,
      cache_creation_input_tokens: sql`c.cache_creation_input_tokens`,
    },
  )} AS details FROM cached c`;

const PROMPT_LEFT = sql`c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens`;

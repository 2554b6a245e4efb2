import { projectLock } from '../../../platform/database/advisory-locks.js';
import type { MarkedStatistics } from '../../../platform/database/marks-refresher.js';
import { lookedUp, unseen } from '../../../platform/query/plans.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import { DOCUMENT_BYTES } from '../read/calls.query.js';
import { IS_TIMED, visibleIn } from '../../visible-calls.js';
import { TWIN_ID_PREFIX } from '../../conventions/response-id.js';
import { countedUsage, isWalkEnd, REACH_MINUTES } from '../usage/counted-usage.query.js';
import { detailSums } from '../usage/token-details.query.js';

/**
 * Length of a slot. Today's time zones differ from UTC by multiples of 15 minutes, so their hours and days are whole
 * slots.
 */
export const SLOT_MS = 300_000;
export const SLOT = sql`interval '5 minutes'`;
/** Maximum time between the starts of two calls that report the same request. */
const REACH = sql`make_interval(mins => ${REACH_MINUTES}::int)`;

/**
 * Numbers of input tokens from which a model of `@pydantic/genai-prices` may have another price. A test compares the
 * list with the package. If a price changes at another number, `min_input` and `max_input` show it, and such calls are
 * read one by one.
 */
export const TIERS = [128_001, 200_000, 200_001, 272_000, 272_001, 512_001];

/** Refreshing a slot reads all its calls; `atOnce` assumes some 100 of them. */
export const MARKED_SLOTS: MarkedStatistics = {
  marks: sql`call_slot_marks`,
  lock: projectLock(0x736c6f74),
  atOnce: 500,
  what: 'statistics of calls',
};

/** Latency of the call `c` in microseconds. Null if `LATENCY_MS` is null. */
export const LATENCY_US = sql`(CASE WHEN ${IS_TIMED} THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint`;

/** Returns sums over the calls `c` that match the condition. Ended calls are those with a known duration. */
const callTotals = (isCounted: Sql) => sql`count(*) FILTER (WHERE ${isCounted}) AS call_count,
  count(*) FILTER (WHERE ${IS_TIMED} AND ${isCounted}) AS ended_count, count(c.exception) FILTER (WHERE ${isCounted}) AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at AND ${isCounted}) AS instant_count,
  sum(${LATENCY_US}) FILTER (WHERE ${isCounted}) AS latency_sum, min(${LATENCY_US}) FILTER (WHERE ${isCounted}) AS latency_min,
  max(${LATENCY_US}) FILTER (WHERE ${isCounted}) AS latency_max`;
export const CALL_TOTALS = callTotals(sql`TRUE`);

/** Matches the calls of stored statistics: docs/adr/0140-sources-of-calls.md. */
const IS_PRODUCTION = sql`c.source = 'production'`;

export const USAGE_TOTALS = sql`count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input, ${detailSums(sql`u.details`)} AS details`;

/**
 * A slot whose marks were taken: the changes in its number of calls and in its bytes, the time of the last mark, and
 * what its changed calls name.
 */
export interface MarkedSlot {
  slot: string;
  calls: string;
  bytes: string;
  made_at: string;
  names: { parents: string[][]; responses: string[][] };
  /** True while the five minutes are not over. */
  is_open: boolean;
}

/** Parents of calls that changed, and their responses, each with the slot of the call. */
export interface ChangedLinks {
  parents: readonly string[];
  responses: readonly string[];
  slots: readonly string[];
}

/**
 * Selects slots of calls whose counted usage may have changed, because calls below them or with the same response
 * changed.
 */
export const namedSlots = (projectId: string, { parents, responses, slots }: ChangedLinks) => sql<{
  slot: string;
  is_open: boolean;
  ms: number;
}>`
  WITH RECURSIVE up AS (
    SELECT c.id, c.parent_id, c.trace_id, c.started_at, ${isWalkEnd(projectId)} AS is_last FROM calls c
    WHERE ${visibleIn(projectId)} AND c.id = ANY(${parents}::text[])
    UNION
    SELECT c.* FROM unnest(${parents}::text[]) AS p (id) ${lookedUp(
      sql`SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
        WHERE ${visibleIn(projectId)} AND c.response_id >= ${TWIN_ID_PREFIX}::text || p.id || '/' AND c.response_id < ${TWIN_ID_PREFIX}::text || p.id || '0'`,
      'c',
    )}
    UNION
    SELECT c.* FROM (SELECT DISTINCT response, slot
      FROM unnest(${responses}::text[], ${slots}::timestamptz[]) AS s (response, slot)) s ${lookedUp(
        sql`SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
        WHERE ${visibleIn(projectId)} AND c.response_id = s.response
          AND c.started_at >= s.slot - ${REACH} AND c.started_at < s.slot + ${SLOT} + ${REACH}`,
        'c',
      )}
    UNION
    SELECT c.* FROM up ${lookedUp(
      sql`SELECT c.id, c.parent_id, c.trace_id, c.started_at, ${isWalkEnd(projectId)} AS is_last FROM calls c
      WHERE ${visibleIn(projectId)} AND c.id = up.parent_id AND ${unseen(sql`c.trace_id = up.trace_id`)}`,
      'c',
    )}
    WHERE NOT up.is_last
  )
  SELECT DISTINCT s.slot::text, s.slot >= now() - ${SLOT} AS is_open, (extract(epoch FROM s.slot) * 1000)::float8 AS ms
  FROM (SELECT date_bin(${SLOT}, up.started_at, 'epoch') AS slot FROM up) s`;

/** Deletes all marks of some slots, and returns these slots. */
export const marksTake = (projectId: string, limit: number) => sql<MarkedSlot>`
  WITH taken AS (
    DELETE FROM call_slot_marks WHERE project_id = ${projectId} AND slot = ANY(ARRAY(
      (SELECT DISTINCT m.slot FROM call_slot_marks m WHERE m.project_id = ${projectId} AND m.slot < now() - ${SLOT}
        ORDER BY m.slot LIMIT ${limit}::bigint)
      UNION ALL
      (SELECT m.slot FROM call_slot_marks m WHERE m.project_id = ${projectId} AND m.slot >= now() - ${SLOT}
        GROUP BY m.slot HAVING count(*) > 1 OR sum(m.call_count) <> 0)))
    RETURNING slot, call_count, bytes, made_at, parent_ids, response_ids)
  SELECT slot::text AS slot, sum(call_count)::text AS calls, sum(bytes)::text AS bytes, max(made_at)::text AS made_at, slot >= now() - ${SLOT} AS is_open,
    json_build_object('parents', coalesce(json_agg(parent_ids) FILTER (WHERE parent_ids IS NOT NULL), '[]'),
      'responses', coalesce(json_agg(response_ids) FILTER (WHERE response_ids IS NOT NULL), '[]')) AS names
  FROM taken GROUP BY taken.slot ORDER BY taken.slot`;

/**
 * Inserts marks without a change in the number of calls: for slots that are not over, and for slots that must be
 * computed again. Slots that are not over are not computed, because each write would mark them again and each refresh
 * reads all their calls. Their bytes stay marked.
 */
export const marksKeep = (
  projectId: string,
  slots: readonly Pick<MarkedSlot, 'slot' | 'bytes' | 'made_at'>[],
) => sql`
  INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, made_at)
  SELECT ${projectId}, slot, 0, bytes, made_at
  FROM unnest(${slots.map(({ slot }) => slot)}::timestamptz[], ${slots.map(({ bytes }) => bytes)}::bigint[],
    ${slots.map(({ made_at }) => made_at)}::timestamptz[]) AS s (slot, bytes, made_at)`;

/** Deletes stored slots. Returns the bytes of the calls of each. */
export const slotsDelete = (projectId: string, slots: readonly string[]) => sql<{ bytes: string }>`
  WITH models AS (
    DELETE FROM call_slot_models WHERE project_id = ${projectId} AND slot = ANY(${slots}::timestamptz[])
  )
  DELETE FROM call_slots WHERE project_id = ${projectId} AND slot = ANY(${slots}::timestamptz[]) RETURNING bytes::text`;

/** Selects statistics of the calls of each slot `s`, with one range of the index of starts for each. */
const ofSlot = (projectId: string, statistics: Sql) => sql`
  SELECT ${statistics} WHERE ${visibleIn(projectId)}
    AND c.started_at >= s.slot AND c.started_at < s.slot + ${SLOT}`;

/** Computes and stores slots. Returns the bytes of the calls of each. */
export const slotsInsert = (projectId: string, slots: readonly string[]) => sql<{ bytes: string }>`
  INSERT INTO call_slots (project_id, slot, call_count, ended_count, error_count, instant_count,
    latency_sum, latency_min, latency_max, latencies, bytes)
  SELECT ${projectId}, s.slot, t.* FROM unnest(${slots}::timestamptz[]) AS s (slot) CROSS JOIN LATERAL (
    ${ofSlot(
      projectId,
      sql`${callTotals(IS_PRODUCTION)}, string_agg(int8send(${LATENCY_US}), ''::bytea ORDER BY ${LATENCY_US}) FILTER (WHERE ${IS_PRODUCTION}) AS latencies,
        coalesce(sum(${DOCUMENT_BYTES}), 0) AS bytes FROM calls c`,
    )}) t
  WHERE t.call_count > 0 OR t.bytes > 0 RETURNING bytes::text`;

/** Selects the usage of models in each slot, as JSON rows. */
export const slotModels = (projectId: string, slots: readonly string[]) => sql<{ row: string }>`
  SELECT row_to_json(t)::text AS row FROM (
    SELECT u.slot, u.llm_id, width_bucket(u.input_tokens, ${TIERS}::bigint[]) AS tier, u.unknown_kinds, ${USAGE_TOTALS}
    FROM (${countedUsage(
      projectId,
      sql`SELECT s.slot, c.* FROM unnest(${slots}::timestamptz[]) AS s (slot)
        ${lookedUp(sql`${ofSlot(projectId, sql`c.* FROM calls c`)} AND ${IS_PRODUCTION}`, 'c')}`,
      sql`c.slot`,
    )}) u GROUP BY 1, 2, 3, 4) t`;

/**
 * Stores the rows of `slotModels`. They are two statements, because a distributed database cannot insert the rows of a
 * recursive query.
 */
export const slotModelsInsert = (projectId: string, rows: readonly string[]) => sql`
  INSERT INTO call_slot_models (project_id, slot, llm_id, tier, unknown_kinds, call_count, prompt_tokens, completion_tokens,
    cache_read_input_tokens, cache_creation_input_tokens, min_input, max_input, details)
  SELECT ${projectId}, t.* FROM unnest(${rows}::json[]) AS r (json) CROSS JOIN LATERAL json_to_record(r.json) AS t (
    slot timestamptz, llm_id text, tier smallint, unknown_kinds smallint, call_count bigint, prompt_tokens numeric,
    completion_tokens numeric, cache_read_input_tokens numeric, cache_creation_input_tokens numeric, min_input bigint,
    max_input bigint, details numeric[])`;

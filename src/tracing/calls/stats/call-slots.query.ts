import { LOCKS } from '../../../platform/database/advisory-locks.js';
import type { Marked } from '../../../platform/database/marks-refresher.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import { BYTES } from '../read/calls.query.js';
import { visibleIn } from '../../visible-calls.js';

/** Zones of today differ from UTC by multiples of a quarter of an hour, so that their hours and days are whole slots. */
export const SLOT_MS = 300_000;
const SLOT = sql`interval '5 minutes'`;

/**
 * Input tokens from which a model of `@pydantic/genai-prices` may cost another price. A test holds the list equal to the
 * package's; a price that changes elsewhere is found by `min_input` and `max_input`, and such calls are read one by one.
 */
export const TIERS = [128_001, 200_000, 200_001, 272_000, 272_001, 512_001];

/** A slot costs its calls, some 100 here. */
export const MARKED_SLOTS: Marked = {
  marks: sql`call_slot_marks`,
  lock: LOCKS.callSlots,
  atOnce: 500,
  what: 'statistics of calls',
};

/** Microseconds; null while the call runs. */
export const LATENCY_US = sql`(extract(epoch FROM c.ended_at - c.started_at) * 1000000)::bigint`;

/** Sums over calls `c`. */
export const CALL_TOTALS = sql`count(*) AS call_count, count(c.ended_at) AS ended_count, count(c.exception) AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at) AS instant_count,
  sum(${LATENCY_US}) AS latency_sum, min(${LATENCY_US}) AS latency_min, max(${LATENCY_US}) AS latency_max`;

/** Sums over the usage `u` of calls. */
export const USAGE_TOTALS = sql`count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input`;

/** A slot whose marks were taken: by how many calls it has grown, and when. */
export interface MarkedSlot {
  slot: string;
  calls: string;
  made_at: string;
  /** It is not over. */
  is_open: boolean;
}

/** Takes all marks of some slots away, and answers these slots. */
export const marksTake = (projectId: string, limit: number) => sql<MarkedSlot>`
  WITH taken AS (
    DELETE FROM call_slot_marks WHERE project_id = ${projectId} AND slot = ANY(ARRAY(
      (SELECT DISTINCT m.slot FROM call_slot_marks m WHERE m.project_id = ${projectId} AND m.slot < now() - ${SLOT}
        ORDER BY m.slot LIMIT ${limit}::bigint)
      UNION ALL
      (SELECT m.slot FROM call_slot_marks m WHERE m.project_id = ${projectId} AND m.slot >= now() - ${SLOT}
        GROUP BY m.slot HAVING count(*) > 1 OR sum(m.call_count) <> 0)))
    RETURNING slot, call_count, made_at)
  SELECT slot::text AS slot, sum(call_count)::text AS calls, max(made_at)::text AS made_at, slot >= now() - ${SLOT} AS is_open
  FROM taken GROUP BY taken.slot ORDER BY taken.slot`;

/**
 * Marks of slots that are not over, which count nothing: each write would mark such a slot anew, and it costs all of its
 * calls.
 */
export const marksKeep = (projectId: string, slots: readonly MarkedSlot[]) => sql`
  INSERT INTO call_slot_marks (project_id, slot, call_count, made_at)
  SELECT ${projectId}, slot, 0, made_at
  FROM unnest(${slots.map(({ slot }) => slot)}::timestamptz[], ${slots.map(({ made_at }) => made_at)}::timestamptz[])
    AS s (slot, made_at)`;

/** Answers what the calls of each slot took. */
export const slotsDelete = (projectId: string, slots: readonly string[]) => sql<{ bytes: string }>`
  WITH models AS (
    DELETE FROM call_slot_models WHERE project_id = ${projectId} AND slot = ANY(${slots}::timestamptz[])
  )
  DELETE FROM call_slots WHERE project_id = ${projectId} AND slot = ANY(${slots}::timestamptz[]) RETURNING bytes::text`;

/** The calls of each of some slots `s`, one look into the index of starts for each. */
const ofSlot = (projectId: string, statistics: Sql) => sql`
  SELECT ${statistics} WHERE ${visibleIn(projectId)}
    AND c.started_at >= s.slot AND c.started_at < s.slot + ${SLOT}`;

/** Answers what the calls of each slot take. */
export const slotsInsert = (projectId: string, slots: readonly string[]) => sql<{ bytes: string }>`
  INSERT INTO call_slots (project_id, slot, call_count, ended_count, error_count, instant_count,
    latency_sum, latency_min, latency_max, latencies, bytes)
  SELECT ${projectId}, s.slot, t.* FROM unnest(${slots}::timestamptz[]) AS s (slot) CROSS JOIN LATERAL (
    ${ofSlot(
      projectId,
      sql`${CALL_TOTALS}, string_agg(int8send(${LATENCY_US}), ''::bytea ORDER BY ${LATENCY_US}) AS latencies,
        coalesce(sum(${BYTES}), 0) AS bytes FROM calls c`,
    )}) t
  WHERE t.call_count > 0 RETURNING bytes::text`;

export const slotModelsInsert = (projectId: string, slots: readonly string[]) => sql`
  INSERT INTO call_slot_models (project_id, slot, llm_id, tier, unknown_kinds, call_count, prompt_tokens, completion_tokens,
    cache_read_input_tokens, cache_creation_input_tokens, min_input, max_input)
  SELECT ${projectId}, s.slot, t.* FROM unnest(${slots}::timestamptz[]) AS s (slot) CROSS JOIN LATERAL (
    ${ofSlot(
      projectId,
      sql`u.llm_id, width_bucket(u.input_tokens, ${TIERS}::bigint[]) AS tier, u.unknown_kinds, ${USAGE_TOTALS}
        FROM calls c CROSS JOIN LATERAL skein_usage(c.summary, c.is_opaque) u`,
    )}
    GROUP BY 1, 2, 3) t`;

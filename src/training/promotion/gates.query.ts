// SQL for gates: pairs calls by digests of their documents, and averages scores, in the database.
import { join, sql, type Sql } from '../../platform/query/sql.js';
import { toNumber } from '../../platform/query/columns.js';
import { visibleIn } from '../../tracing/visible-calls.js';
import { isCallOfModel } from '../model-calls.query.js';

/** Largest number of calls of a step that a gate reads. */
export const MAX_CALLS = 20_000;
/** Characters of a row's key in an answer. */
const KEY_LENGTH = 200;

/** A row of one step: the calls with the same content, and their scores. */
export interface GateSideRow {
  /** Null when the calls have no value in any of the fields that pair them. */
  digest: string | null;
  key: string;
  calls: number;
  /** Number of calls with a score; `mean` is the mean of these scores. */
  scored: number;
  mean: number | null;
}

/** The SQL expressions of a gate for the call `c`. */
export interface GateReading {
  projectId: string;
  condition: Sql;
  /** Values that pair calls, and the score, as texts. */
  keys: Sql[];
  score: Sql;
}

/**
 * Groups the calls of a step into rows. Adds scores as decimal numbers, so that their order does not change the sum.
 */
export function sideQuery(
  { projectId, condition, keys, score }: GateReading,
  model: string,
): Sql<GateSideRow> {
  const texts = keys.map((_, i) => sql`c.keys[${i + 1}::int]`);
  const [first] = texts;
  const digests = texts.map((text) => sql`coalesce(skein_content_sha256(${text}), '-')`);
  const number = sql`CASE c.score WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${toNumber(sql`c.score`)} END`;
  return sql`
    SELECT c.digest, min(c.key) AS key, count(*)::int AS calls, count(c.score)::int AS scored,
      round(avg(c.score), 20)::float8 AS mean
    FROM (
      SELECT CASE WHEN num_nonnulls(${join(texts)}) > 0 THEN ${
        digests.length === 1
          ? digests[0]!
          : sql`encode(sha256(convert_to(${join(digests, ' || ')}, 'UTF8')), 'hex')`
      } END AS digest, left(${keys.length === 1 ? first! : sql`array_to_string(c.keys, ' | ', '')`}, ${KEY_LENGTH + 1}::int) AS key,
        CASE WHEN abs(${number}) <= 1e100 THEN ${number} END AS score
      FROM (
        SELECT ARRAY[${join(keys)}]::text[] AS keys, ${score} AS score FROM calls c
        WHERE ${visibleIn(projectId)} AND ${isCallOfModel(model)} AND ${condition}
        ORDER BY c.started_at DESC, c.id LIMIT ${MAX_CALLS + 1}) c) c
    GROUP BY c.digest`;
}

export const shownKey = (digest: string, key: string) =>
  key.length > KEY_LENGTH ? `${key.slice(0, KEY_LENGTH - 70)}… ${digest}` : key;

/** Reads a checkpoint, and protects it from changes until the end of the transaction. */
export const checkpointShare = (projectId: string, modelId: string, step: number) => sql<{
  is_tainted: boolean;
}>`
  SELECT tainted_at IS NOT NULL AS is_tainted FROM checkpoints
  WHERE project_id = ${projectId} AND model_id = ${modelId} AND step = ${step} FOR SHARE`;

// SQL: calls are paired by digests of their documents, and scores averaged, where they lie.
import { join, sql, type Sql } from '../../platform/query/sql.js';
import { toNumber } from '../../platform/query/columns.js';
import { visibleIn } from '../../tracing/visible-calls.js';
import { isCallOfModel } from '../model-calls.query.js';

/** Calls of a step that a gate reads. */
export const MAX_CALLS = 20_000;
/** Characters of a row's key that are shown. */
const KEY_LENGTH = 200;

/** What is said of a row by the calls of one step. */
export interface GateSideRow {
  /** Null where the calls have no value to pair them by. */
  digest: string | null;
  key: string;
  calls: number;
  /** Calls with a score, and the mean of these. */
  scored: number;
  mean: number | null;
}

/** What a gate looks at, of the call `c`. */
export interface GateReading {
  projectId: string;
  condition: Sql;
  /** The values that pair calls, and the score, as texts. */
  keys: Sql[];
  score: Sql;
}

/** The calls of a step, by row. Scores are added up as decimal numbers, so that their order makes no difference. */
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

/** A row's key as it is shown. */
export const shownKey = (digest: string, key: string) =>
  key.length > KEY_LENGTH ? `${key.slice(0, KEY_LENGTH - 70)}… ${digest}` : key;

/** A checkpoint that stays as it is for the rest of the transaction. */
export const checkpointShare = (projectId: string, modelId: string, step: number) => sql<{
  is_tainted: boolean;
}>`
  SELECT tainted_at IS NOT NULL AS is_tainted FROM checkpoints
  WHERE project_id = ${projectId} AND model_id = ${modelId} AND step = ${step} FOR SHARE`;

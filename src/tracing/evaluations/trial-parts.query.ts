// SQL: what evaluations are made of, told from calls where they lie.
import { pricesOfCall } from '../costs/costs.service.js';
import {
  type JsonColumn,
  jsonAt,
  jsonValueAt,
  mostBytes,
  wireTime,
} from '../../platform/query/columns.js';
import { computedOnce } from '../../platform/query/plans.js';
import { join, sql, type Sql } from '../../platform/query/sql.js';
import { LATENCY_MS, visibleIn } from '../visible-calls.js';

/** The part of a ref to a row of a dataset that stands before the row's digest. */
export const ROW_PATH = '/attr/rows/id/';

export const document = (name: 'attributes' | 'inputs' | 'output', of = sql`c`): JsonColumn => ({
  type: 'document',
  sql: { attributes: sql`${of}.attributes`, inputs: sql`${of}.inputs`, output: sql`${of}.output` }[
    name
  ],
  isOpaque: sql`${of}.is_opaque`,
});

/** The name in the op's ref, or the whole of another name. */
export const opName = sql`CASE WHEN strpos(c.op_name, '/op/') > 0
    THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END`;

/** A scorer by the name that trials have for it: `Judge.score` is `Judge`. */
export const scoreName = sql`CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END`;

/** Both SDKs' names of the call of one trial. */
export const isTrial = sql`skein_is_trial(c.op_name)`;

/** Below a trial, with its op's name as `name`: who scores it. Documents are taken apart only where they may say so. */
export const isScorer = sql`(strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
    coalesce(${jsonAt(document('attributes'), ['weave', 'score']).sql}, 'false') <> 'false'
    OR coalesce(${jsonAt(document('attributes'), ['_weave_eval_meta', 'score']).sql}, 'false') <> 'false'))`;

/** Below the trial `s`, likewise: who predicted for it. */
export const isPredict = sql`(strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = ${jsonAt(document('inputs', sql`s`), ['model']).sql}
  OR ${jsonAt(document('inputs'), ['self']).sql} = ${jsonAt(document('inputs', sql`s`), ['model']).sql})`;

/** The digest of a ref to a row, or of the row itself; what is longer than a ref is none. */
const DIGEST = sql`CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, ${ROW_PATH}) = 0 OR length(c.example_text) > 2048
  THEN coalesce(skein_content_sha256(c.example_text), '') ELSE split_part(c.example_text, ${ROW_PATH}, 2) END`;
export const HAS_ROW_REF = sql`NOT starts_with(s.example_text, '{') AND strpos(s.example_text, ${ROW_PATH}) > 0`;

/** Scores of the trial `s`; of one whose scores are no object, none. */
export const SCORES = sql`CASE WHEN json_typeof(s.scores) = 'object' THEN s.scores END`;

/** The trials `s` among the calls `c` that a condition finds. */
export const trialsWhere = (projectId: string, isWanted: Sql, hasScores: boolean) => {
  const scores = hasScores ? jsonValueAt(document('output'), ['scores']) : sql`NULL::json`;
  const found = sql`SELECT c.id, c.parent_id, c.started_at, c.is_opaque, c.inputs, c.output, ${scores} AS scores,
    ${jsonAt(document('inputs'), ['example']).sql} AS example_text
    FROM calls c WHERE ${visibleIn(projectId)} AND ${isWanted} AND ${isTrial}`;
  return computedOnce(sql`SELECT c.*, ${DIGEST} AS digest FROM ${computedOnce(found, 'c')}`, 's');
};

/** What is told of spending: what counts as tokens, when it was too, or also what prices there were. */
export type SpendingDetail = 'counted' | 'dated' | 'priced';

/** What a call spent, as `CostsService` reads it. */
export const spendingJson = (projectId: string, spending: SpendingDetail) => {
  const members = [
    sql`'usage', c.usage, 'counts_gross', c.counts_gross`,
    ...(spending === 'counted' ? [] : [sql`'started_at', ${wireTime(sql`c.started_at`)}`]),
    ...(spending === 'priced' ? [sql`'records', ${pricesOfCall(projectId)}`] : []),
  ];
  return sql`CASE WHEN c.usage IS NOT NULL THEN json_build_object(${join(members)}) END`;
};

/** Bytes of an output: of a small one at most, of others as they are, which takes them out one by one. */
const outputBytes = sql`CASE WHEN pg_column_size(c.output) <= 8192 THEN ${mostBytes(sql`c.output`)} ELSE octet_length(c.output::text) END`;

/** Calls below a trial. */
export const MAX_CHILDREN = 10_000;
/** Bytes of what scorers gave below a trial, all of which is joined. */
export const MAX_SCORER_BYTES = 64 * 1024 * 1024;

/**
 * The calls below the trial `s`, with the names of their ops; `is_much` where they are so many, or their scorers gave so much, that they
 * must not be joined.
 */
export const children = (projectId: string) => {
  const found = computedOnce(
    sql`SELECT c.id, c.op_name, c.started_at, c.ended_at, c.usage, c.counts_gross, c.is_opaque, c.attributes, c.inputs, c.output,
      c.summary, ${opName} AS name FROM calls c
    WHERE c.project_id = ${projectId} AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
    LIMIT ${MAX_CHILDREN + 1}::bigint`,
    'c',
  );
  return computedOnce(
    sql`SELECT c.*, count(*) OVER () > ${MAX_CHILDREN}::bigint
      OR sum(CASE WHEN ${isScorer} THEN ${outputBytes} ELSE 0 END) OVER () > ${MAX_SCORER_BYTES}::bigint AS is_much
    FROM ${found}`,
    'c',
  );
};

export const output = sql`CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END`;

/** What scorers gave that the trial does not tell. */
export const isLate = sql`NOT c.is_much AND ${isScorer} AND c.output IS NOT NULL AND (s.scores -> (${scoreName})) IS NULL`;

const predictionValue = (value: Sql) =>
  sql`(array_agg(${value} ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND ${isPredict} AND NOT ${isScorer}))[1]`;

/** Of names that come again the last value counts, for those who read it too; `true` where it is too much. */
const LATE_SCORES = sql`CASE WHEN bool_or(c.is_much) THEN 'true'::json ELSE json_object_agg(${scoreName}, ${output} ORDER BY c.started_at, c.id) FILTER (WHERE ${isLate}) END`;

/** What is asked of the calls below a trial. */
export interface TrialChildrenOptions {
  hasScores: boolean;
  /** What the prediction spent. */
  spending: SpendingDetail | null;
  /** Whether latencies and the scorers' spending are asked for too; these are told as that of the prediction. */
  isCompared: boolean;
}

/** `late`, `spent`, `latency` and `judges` of the calls below the trial `s`. */
export function belowTrial(
  projectId: string,
  { hasScores, spending, isCompared }: TrialChildrenOptions,
): Sql {
  const values = [
    sql`${hasScores ? LATE_SCORES : sql`NULL::json`} AS late`,
    sql`${spending ? predictionValue(spendingJson(projectId, spending)) : sql`NULL::json`} AS spent`,
    sql`${isCompared ? sql`coalesce(${predictionValue(sql`${LATENCY_MS} / 1000`)}, ${OWN_LATENCY})` : sql`NULL::float8`} AS latency`,
    sql`${isCompared && spending ? sql`json_agg(${spendingJson(projectId, spending)}) FILTER (WHERE ${isScorer} AND c.usage IS NOT NULL)` : sql`NULL::json`} AS judges`,
  ];
  return sql`SELECT ${join(values)} FROM ${children(projectId)}`;
}

/** What the trial itself says of the latency of the model, in seconds. */
export const OWN_LATENCY = sql`coalesce(
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency', 'mean']).sql}),
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency']).sql}))::float8`;

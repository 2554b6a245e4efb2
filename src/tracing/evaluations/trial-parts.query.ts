// SQL: expressions that read the parts of evaluations from the documents of calls.
import { pricesOfCall } from '../pricing/prices.query.js';
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

/** The part of a dataset row's ref before the row's digest. */
export const ROW_PATH = '/attr/rows/id/';

export const document = (name: 'attributes' | 'inputs' | 'output', of = sql`c`): JsonColumn => ({
  type: 'document',
  sql: { attributes: sql`${of}.attributes`, inputs: sql`${of}.inputs`, output: sql`${of}.output` }[
    name
  ],
  isOpaque: sql`${of}.is_opaque`,
});

/** The name in the op's ref, or the whole `op_name` when it is no ref. */
export const opName = sql`CASE WHEN strpos(c.op_name, '/op/') > 0
    THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END`;

/** A scorer's name in the scores of a trial: `Judge.score` is `Judge`. */
export const scoreName = sql`CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END`;

export const isTrial = sql`skein_is_trial(c.op_name)`;

/**
 * Matches scorers among the children `c` of a trial, where `name` is the name of the op. Attributes are parsed only
 * when their text may contain the flag.
 */
export const isScorer = sql`(strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
    coalesce(${jsonAt(document('attributes'), ['weave', 'score']).sql}, 'false') <> 'false'
    OR coalesce(${jsonAt(document('attributes'), ['_weave_eval_meta', 'score']).sql}, 'false') <> 'false'))`;

/** Matches the prediction among the children `c` of the trial `s`. */
export const isPredict = sql`(strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = ${jsonAt(document('inputs', sql`s`), ['model']).sql}
  OR ${jsonAt(document('inputs'), ['self']).sql} = ${jsonAt(document('inputs', sql`s`), ['model']).sql})`;

/** The digest in the ref of a row, or the digest of the example itself when it is no ref or too long for one. */
const DIGEST = sql`CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, ${ROW_PATH}) = 0 OR length(c.example_text) > 2048
  THEN coalesce(skein_content_sha256(c.example_text), '') ELSE split_part(c.example_text, ${ROW_PATH}, 2) END`;
export const HAS_ROW_REF = sql`NOT starts_with(s.example_text, '{') AND strpos(s.example_text, ${ROW_PATH}) > 0`;

/** Scores of the trial `s`. Null when they are no object. */
export const SCORES = sql`CASE WHEN json_typeof(s.scores) = 'object' THEN s.scores END`;

/** Selects the trials `s` among the calls `c` that match a condition. */
export const trialsWhere = (projectId: string, isWanted: Sql, hasScores: boolean) => {
  const scores = hasScores ? jsonValueAt(document('output'), ['scores']) : sql`NULL::json`;
  const found = sql`SELECT c.id, c.parent_id, c.started_at, c.is_opaque, c.inputs, c.output, ${scores} AS scores,
    ${jsonAt(document('inputs'), ['example']).sql} AS example_text
    FROM calls c WHERE ${visibleIn(projectId)} AND ${isWanted} AND ${isTrial}`;
  return computedOnce(sql`SELECT c.*, ${DIGEST} AS digest FROM ${computedOnce(found, 'c')}`, 's');
};

/**
 * Members of a call's spending: `counted` has the usage, `dated` adds the start, `priced` also the prices of that time.
 */
export type SpendingDetail = 'counted' | 'dated' | 'priced';

/** A call's usage, in the form of `Priceable`. */
export const spendingJson = (projectId: string, spending: SpendingDetail) => {
  const members = [
    sql`'usage', c.usage, 'counts_gross', c.counts_gross`,
    ...(spending === 'counted' ? [] : [sql`'started_at', ${wireTime(sql`c.started_at`)}`]),
    ...(spending === 'priced' ? [sql`'records', ${pricesOfCall(projectId)}`] : []),
  ];
  return sql`CASE WHEN c.usage IS NOT NULL THEN json_build_object(${join(members)}) END`;
};

/**
 * Bytes of an output: an upper bound for small outputs, the exact size for others, which requires decompressing each.
 */
const outputBytes = sql`CASE WHEN pg_column_size(c.output) <= 8192 THEN ${mostBytes(sql`c.output`)} ELSE octet_length(c.output::text) END`;

/** Calls below one trial. */
export const MAX_CHILDREN = 10_000;
/** Bytes of the outputs of scorers below one trial, all of which are joined. */
export const MAX_SCORER_BYTES = 64 * 1024 * 1024;

/**
 * Reads the calls below the trial `s`, with the names of their ops. `is_much` is true when they, or the outputs of
 * their scorers, exceed the limits and must not be joined.
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

/** Matches scorers whose score is missing in the scores of the trial `s`. */
export const isLate = sql`NOT c.is_much AND ${isScorer} AND c.output IS NOT NULL AND (s.scores -> (${scoreName})) IS NULL`;

const predictionValue = (value: Sql) =>
  sql`(array_agg(${value} ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND ${isPredict} AND NOT ${isScorer}))[1]`;

/**
 * Missing scores by name. A repeated name keeps its last value, as readers of JSON expect. `true` when they exceed the
 * limits.
 */
const LATE_SCORES = sql`CASE WHEN bool_or(c.is_much) THEN 'true'::json ELSE json_object_agg(${scoreName}, ${output} ORDER BY c.started_at, c.id) FILTER (WHERE ${isLate}) END`;

export interface TrialChildrenOptions {
  hasScores: boolean;
  /** The detail of the prediction's spending; null for none. */
  spending: SpendingDetail | null;
  /** True to read latencies and the scorers' spending too, in the same detail as that of the prediction. */
  isCompared: boolean;
}

/** Reads `late`, `spent`, `latency` and `judges` from the calls below the trial `s`. */
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

/** The model's latency in seconds, as the trial's output reports it. */
export const OWN_LATENCY = sql`coalesce(
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency', 'mean']).sql}),
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency']).sql}))::float8`;

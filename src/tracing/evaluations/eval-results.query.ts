// SQL: rows of evaluations are grouped, filtered and scored from documents where they lie, without taking out what is not asked for.
import { pricesOfCall } from '../costs/costs.service.js';
import {
  column,
  type Columns,
  type JsonColumn,
  jsonAt,
  jsonValueAt,
  nameBytes,
  resolve,
  wireTime,
} from '../../platform/query/columns.js';
import { compile } from '../../platform/query/expression.js';
import { computedOnce, lookedUp } from '../../platform/query/plans.js';
import { isListed, join, sql, type Sql } from '../../platform/query/sql.js';
import { LATENCY_MS, visibleIn } from '../visible-calls.js';

/** The part of a ref to a row of a dataset that stands before the row's digest. */
export const ROW_PATH = '/attr/rows/id/';

const NEVER = sql`FALSE`;
const document = (name: 'attributes' | 'inputs' | 'output', of = sql`c`): JsonColumn => ({
  type: 'document',
  sql: { attributes: sql`${of}.attributes`, inputs: sql`${of}.inputs`, output: sql`${of}.output` }[
    name
  ],
  isOpaque: sql`${of}.is_opaque`,
});

/** The name in the op's ref, or the whole of another name. */
const opName = sql`CASE WHEN strpos(c.op_name, '/op/') > 0
    THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END`;

/** A scorer by the name that trials have for it: `Judge.score` is `Judge`. */
const scoreName = sql`CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END`;

/** Both SDKs' names of the call of one trial. */
const isTrial = sql`(strpos(c.op_name, 'Evaluation.predict_and_score') > 0 OR strpos(c.op_name, 'Evaluation.predictAndScore') > 0)`;

/** Below a trial, with its op's name as `name`: who scores it. Documents are taken apart only where they may say so. */
const isScorer = sql`(strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
    coalesce(${jsonAt(document('attributes'), ['weave', 'score']).sql}, 'false') <> 'false'
    OR coalesce(${jsonAt(document('attributes'), ['_weave_eval_meta', 'score']).sql}, 'false') <> 'false'))`;

/** Below the trial `s`, likewise: who predicted for it. */
const isPredict = sql`(strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = ${jsonAt(document('inputs', sql`s`), ['model']).sql}
  OR ${jsonAt(document('inputs'), ['self']).sql} = ${jsonAt(document('inputs', sql`s`), ['model']).sql})`;

export interface EvaluationRoot {
  id: string;
  op_name: string;
  display_name: string | null;
  trace_id: string;
  started_at: string;
  ended_at: string | null;
  exception: string | null;
  evaluation_ref: string | null;
  model_ref: string | null;
}

/** A text of an input where it may be a ref. */
const refIn = (name: string) => {
  const { sql: text } = jsonAt(document('inputs'), [name]);
  return sql`CASE WHEN length(${text}) <= 2048 THEN ${text} END`;
};

/** What is known of calls that evaluations may be. */
export const rootsQuery = (projectId: string, ids: readonly string[]): Sql<EvaluationRoot> => sql`
  SELECT c.id, ${opName} AS op_name, c.display_name, c.trace_id, ${wireTime(sql`c.started_at`)} AS started_at,
    ${wireTime(sql`c.ended_at`)} AS ended_at, c.exception,
    ${refIn('self')} AS evaluation_ref, ${refIn('model')} AS model_ref
  FROM calls c WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, ids)}`;

export interface Scan {
  projectId: string;
  rootIds: readonly string[];
  /** Whether scores are asked for; digests always are. */
  hasScores: boolean;
  /** Whether what lies below the trials counts. */
  hasChildren: boolean;
  hasUsage: boolean;
  hasCosts: boolean;
  /** Whether latencies and the scorers' spending are asked for too. */
  isCompared: boolean;
  /** What the trials are to be asked, in the query language. */
  conditions: readonly object[];
  /** Names of values in inputs and outputs. */
  fields: readonly { field: string; path: string }[];
  limit: number;
}

/** What may be named of a trial `t`. */
const fieldsOfTrial: Columns = {
  scores: column.json(sql`t.all_scores`, NEVER),
  inputs: column.json(sql`t.row`, NEVER),
  output: column.json(sql`t.output`, sql`t.is_opaque`),
  outputs: column.json(sql`t.output`, sql`t.is_opaque`),
  row_digest: column.text(sql`t.digest`, { isNotNull: true }),
};

/** Inputs are those of the dataset's row, where there is one; opaque ones are mended. */
const exampleRow = (
  projectId: string,
) => sql`CASE WHEN NOT (${HAS_ROW_REF}) THEN ${jsonValueAt(document('inputs', sql`s`), ['example'])} ELSE (
  SELECT CASE WHEN r.is_opaque THEN skein_safe_json(r.val) ELSE r.val END
  FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = s.digest) END`;

/** Two objects as one text. No key is in both. */
const joinedObjects = (a: Sql, b: Sql) => sql`(CASE
  WHEN ${b} IS NULL THEN ${a} WHEN coalesce(${a}::text, '{}') ~ '^\\s*[{]\\s*[}]\\s*$' THEN ${b}
  ELSE (substr(rtrim(${a}::text, E' \\n\\r\\t'), 1, length(rtrim(${a}::text, E' \\n\\r\\t')) - 1) || ', ' || substr(${b}::text, 2))::json END)`;

/** The digest of a ref to a row, or of the row itself; what is longer than a ref is none. */
const DIGEST = sql`CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, ${ROW_PATH}) = 0 OR length(c.example_text) > 2048
  THEN coalesce(skein_content_sha256(c.example_text), '') ELSE split_part(c.example_text, ${ROW_PATH}, 2) END`;
const HAS_ROW_REF = sql`NOT starts_with(s.example_text, '{') AND strpos(s.example_text, ${ROW_PATH}) > 0`;

/** Scores of the trial `s`; of one whose scores are no object, none. */
const SCORES = sql`CASE WHEN json_typeof(s.scores) = 'object' THEN s.scores END`;

/** The trials `s` below the call `r`. */
const trials = (projectId: string, hasScores: boolean) => {
  const scores = hasScores ? jsonValueAt(document('output'), ['scores']) : sql`NULL::json`;
  const found = sql`SELECT c.id, c.parent_id, c.started_at, c.is_opaque, c.inputs, c.output, ${scores} AS scores,
    ${jsonAt(document('inputs'), ['example']).sql} AS example_text
    FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = r.id AND ${isTrial}`;
  return computedOnce(sql`SELECT c.*, ${DIGEST} AS digest FROM ${computedOnce(found, 'c')}`, 's');
};

/** What a call spent, as `CostsService` reads it. */
const spent = (projectId: string, hasCosts: boolean) =>
  sql`CASE WHEN c.usage IS NOT NULL THEN ${
    hasCosts
      ? sql`json_build_object('usage', c.usage, 'counts_gross', c.counts_gross, 'started_at', ${wireTime(sql`c.started_at`)}, 'records', ${pricesOfCall(projectId)})`
      : sql`json_build_object('usage', c.usage, 'counts_gross', c.counts_gross)`
  } END`;

/** The calls below the trial `s`, with the names of their ops. */
const children = (projectId: string) =>
  computedOnce(
    sql`SELECT c.id, c.op_name, c.started_at, c.ended_at, c.usage, c.counts_gross, c.is_opaque, c.attributes, c.inputs, c.output,
      c.summary, ${opName} AS name FROM calls c
    WHERE c.project_id = ${projectId} AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL`,
    'c',
  );

const output = sql`CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END`;

/** What scorers gave that the trial does not tell. */
const isLate = sql`${isScorer} AND c.output IS NOT NULL AND (s.scores -> (${scoreName})) IS NULL`;

const first = (value: Sql) =>
  sql`(array_agg(${value} ORDER BY c.started_at, c.id) FILTER (WHERE ${isPredict} AND NOT ${isScorer}))[1]`;

/** Of names that come again the last value counts, for those who read it too. */
const LATE_SCORES = sql`json_object_agg(${scoreName}, ${output} ORDER BY c.started_at, c.id) FILTER (WHERE ${isLate})`;

function belowTrials({ projectId, hasScores, hasUsage, hasCosts, isCompared }: Scan): Sql {
  const values = [
    sql`${hasScores ? LATE_SCORES : sql`NULL::json`} AS late`,
    sql`${hasUsage ? first(spent(projectId, hasCosts)) : sql`NULL::json`} AS spent`,
    sql`${isCompared ? sql`coalesce(${first(sql`${LATENCY_MS} / 1000`)}, ${OWN_LATENCY})` : sql`NULL::float8`} AS latency`,
    sql`${isCompared ? sql`json_agg(${spent(projectId, true)}) FILTER (WHERE ${isScorer} AND c.usage IS NOT NULL)` : sql`NULL::json`} AS judges`,
  ];
  return sql`SELECT ${join(values)} FROM ${children(projectId)}`;
}

/** What the trial itself says of the latency of the model, in seconds. */
const OWN_LATENCY = sql`coalesce(
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency', 'mean']).sql}),
  skein_number(${jsonAt(document('output', sql`s`), ['model_latency']).sql}))::float8`;

/** One trial as it is scanned: `ScannedTrial` as an array. */
export function scanQuery(scan: Scan): Sql {
  const { projectId, rootIds, hasScores, hasChildren, hasUsage, limit } = scan;
  const names = nameBytes();
  const hits = scan.conditions.map(
    (query) => sql`coalesce(${compile(query, fieldsOfTrial)}, false)`,
  );
  const keys = scan.fields.map(
    ({ field, path }) => sql`(${resolve(fieldsOfTrial, field, path, names).sql})::text`,
  );
  const isLookedBelow = hasChildren && (hasScores || hasUsage);
  const below = isLookedBelow ? lookedUp(belowTrials(scan), 'k') : sql``;
  const late = isLookedBelow ? sql`k.late` : sql`NULL::json`;
  const named = sql`CROSS JOIN LATERAL ${computedOnce(
    sql`SELECT s.digest, s.output, s.is_opaque, ${joinedObjects(SCORES, late)} AS all_scores, ${exampleRow(projectId)} AS row`,
    't',
  )}`;
  const values = [
    sql`s.id`,
    sql`s.parent_id`,
    sql`s.digest`,
    sql`date_part('epoch', s.started_at)`,
    ...(hasScores ? [SCORES] : []),
    ...(isLookedBelow ? [sql`k.late`, sql`k.spent`, sql`k.latency`, sql`k.judges`] : []),
  ];
  const asked = [sql`ARRAY[${join(hits)}]::boolean[]`, sql`ARRAY[${join(keys)}]::text[]`];
  const isNamed = hits.length > 0 || keys.length > 0;
  return sql`
    SELECT json_build_array(json_build_array(${join(values)})${isNamed ? sql`, ${join(asked)}` : sql``})::text
    FROM unnest(${rootIds}::text[]) r (id)
    CROSS JOIN LATERAL ${trials(projectId, hasScores)}
    ${below} ${isNamed ? named : sql``} LIMIT ${limit}::bigint`;
}

/** Where a call tells of its spans. */
const SPANS = sql`coalesce(
  ${jsonValueAt(document('attributes'), ['weave', 'genai_span_ref'])}, ${jsonValueAt(document('attributes'), ['weave.genai_span_ref'])},
  ${jsonValueAt({ type: 'document', sql: sql`c.summary`, isOpaque: sql`c.is_opaque` }, ['weave', 'genai_span_ref'])},
  ${jsonValueAt({ type: 'document', sql: sql`c.summary`, isOpaque: sql`c.is_opaque` }, ['weave.genai_span_ref'])})`;

export interface Details {
  projectId: string;
  trialIds: readonly string[];
  hasChildren: boolean;
  hasCosts: boolean;
  hasRaw: boolean;
}

/** What a page shows of trials beside what was scanned: `TrialDetails` as JSON texts. */
export const detailsQuery = (details: Details): Sql => {
  const { projectId, trialIds, hasChildren, hasCosts, hasRaw } = details;
  const child = sql`SELECT json_build_object('id', c.id, 'name', ${scoreName}, 'is_scorer', ${isScorer},
      'is_predict', coalesce(${isPredict}, false), 'latency', ${LATENCY_MS} / 1000,
      'spent', ${spent(projectId, hasCosts)}, 'spans', ${SPANS}, 'output', CASE WHEN ${isLate} THEN ${output} END) AS child, c.started_at, c.id
    FROM ${children(projectId)}`;
  const below = hasChildren
    ? sql`(SELECT coalesce(json_agg(c.child ORDER BY c.started_at, c.id), '[]') FROM (${child}) c)`
    : sql`'[]'::json`;
  return sql`
    SELECT json_build_object('id', s.id, 'output', ${modelOutput(sql`s`)}, 'scores', s.scores, 'raw', ${hasRaw ? sql`s.example` : sql`NULL::json`},
      'latency', ${OWN_LATENCY}, 'children', ${below}, 'spent', s.spent, 'spans', s.spans)::text
    FROM unnest(${trialIds}::text[]) r (id)
    ${lookedUp(
      sql`SELECT c.id, c.inputs, c.output, c.is_opaque,
        ${jsonValueAt(document('output'), ['scores'])} AS scores,
        ${jsonValueAt(document('inputs'), ['example'])} AS example, ${spent(projectId, hasCosts)} AS spent, ${SPANS} AS spans
      FROM calls c WHERE ${visibleIn(projectId)} AND c.id = r.id`,
      's',
    )}`;
};

/** What the model said, by the names of both SDKs. */
const modelOutput = (of: Sql) => sql`coalesce(
  ${jsonValueAt(document('output', of), ['output'])}, ${jsonValueAt(document('output', of), ['model_output'])})`;

/** The datasets' rows behind digests. */
export const datasetRowsQuery = (projectId: string, digests: readonly string[]) => sql<{
  digest: string;
  val: string;
}>`
  SELECT d.digest, r.val::text AS val FROM unnest(${digests}::text[]) d (digest)
  ${lookedUp(sql`SELECT val FROM table_rows WHERE project_id = ${projectId} AND digest = d.digest`, 'r')}`;

/** How many children of an evaluation have ended, and how many there are; at most so many are looked at. */
export const progressQuery = (projectId: string, rootId: string, limit: number) => sql<{
  ended: number;
  all: number;
}>`
  SELECT count(c.ended_at)::int AS ended, count(*)::int AS "all" FROM (
    SELECT c.ended_at FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = ${rootId} AND ${isTrial}
    LIMIT ${limit}::bigint) c`;

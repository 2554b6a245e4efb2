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
const opName = (call: Sql) =>
  sql`CASE WHEN strpos(${call}.op_name, '/op/') > 0
    THEN split_part(split_part(${call}.op_name, '/op/', 2), ':', 1) ELSE ${call}.op_name END`;

/** Both SDKs' names of the call of one trial. */
const isTrial = sql`(c.op_name LIKE '%Evaluation.predict_and_score%' OR c.op_name LIKE '%Evaluation.predictAndScore%')`;

/** Below a trial: who scores it. Names are asked first, since attributes are documents. */
const isScorer = (call: Sql) => sql`(
  ${opName(call)} LIKE '%.score%' OR ${opName(call)} ILIKE '%scorer%'
  OR coalesce(${jsonAt(document('attributes', call), ['weave', 'score']).sql}, 'false') <> 'false'
  OR coalesce(${jsonAt(document('attributes', call), ['_weave_eval_meta', 'score']).sql}, 'false') <> 'false')`;

/** Below a trial: who predicted for it. */
const isPredict = (call: Sql, model: Sql) => sql`(
  ${call}.op_name ~* 'predict|invoke' OR ${call}.op_name = ${model}
  OR ${jsonAt(document('inputs', call), ['self']).sql} = ${model})`;

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

/** What is known of calls that evaluations may be. */
export const rootsQuery = (projectId: string, ids: readonly string[]): Sql<EvaluationRoot> => sql`
  SELECT c.id, ${opName(sql`c`)} AS op_name, c.display_name, c.trace_id, ${wireTime(sql`c.started_at`)} AS started_at,
    ${wireTime(sql`c.ended_at`)} AS ended_at, c.exception,
    ${jsonAt(document('inputs'), ['self']).sql} AS evaluation_ref, ${jsonAt(document('inputs'), ['model']).sql} AS model_ref
  FROM calls c WHERE ${visibleIn(projectId)} AND ${isListed(sql`c.id`, ids)}`;

export interface Scan {
  projectId: string;
  rootIds: readonly string[];
  /** Whether what lies below the trials counts. */
  hasChildren: boolean;
  hasUsage: boolean;
  hasCosts: boolean;
  /** Whether the scorers' spending is asked for too. */
  hasJudges: boolean;
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
const exampleRow = (projectId: string) => sql`CASE WHEN s.row_ref IS NULL THEN s.example ELSE (
  SELECT CASE WHEN r.is_opaque THEN skein_safe_json(r.val) ELSE r.val END
  FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = s.digest) END`;

/** Two objects as one text. No key is in both. */
const joinedObjects = (a: Sql, b: Sql) => sql`(CASE
  WHEN ${b} IS NULL THEN ${a} WHEN coalesce(${a}::text, '{}') ~ '^\\s*[{]\\s*[}]\\s*$' THEN ${b}
  ELSE (substr(rtrim(${a}::text, E' \\n\\r\\t'), 1, length(rtrim(${a}::text, E' \\n\\r\\t')) - 1) || ', ' || substr(${b}::text, 2))::json END)`;

const trialColumns = sql`c.id, c.parent_id, c.started_at, c.ended_at, c.is_opaque, c.output,
  ${jsonAt(document('inputs'), ['example']).sql} AS example_text, ${jsonAt(document('inputs'), ['model']).sql} AS model,
  ${jsonValueAt(document('output'), ['scores'])} AS scores`;

/** The ref of a row where the example is one. */
const ROW_REF = sql`CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, ${ROW_PATH}) = 0 THEN NULL
  ELSE split_part(c.example_text, ${ROW_PATH}, 2) END`;

/** The trials below calls, with what they ran on. */
const trials = (projectId: string, condition: Sql, more: Sql) =>
  computedOnce(
    sql`SELECT c.*, ${ROW_REF} AS row_ref,
      coalesce(${ROW_REF}, skein_content_sha256(c.example_text), '') AS digest FROM
      ${computedOnce(sql`SELECT ${trialColumns}${more} FROM calls c WHERE ${visibleIn(projectId)} AND ${condition} AND ${isTrial}`, 'c')}`,
    's',
  );

/** What a call below a trial spent, as `CostsService` reads it. */
const spent = (
  projectId: string,
  hasCosts: boolean,
) => sql`CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage,
  'counts_gross', c.counts_gross, 'started_at', ${wireTime(sql`c.started_at`)}, 'records', ${hasCosts ? pricesOfCall(projectId) : sql`NULL::json`}) END`;

/** The scores that scorers gave and the trial does not tell, the last of each name; `{}` where there are none. */
const LATE_SCORES = sql`json_object_agg(c.name, c.output ORDER BY c.started_at, c.id)
  FILTER (WHERE c.is_scorer AND c.is_last AND c.output IS NOT NULL AND (s.scores -> c.name) IS NULL)`;

/** Of the calls below a trial, those that matter: the prediction, and the scorers. */
const children = (projectId: string) => sql`
  SELECT c.*, NOT c.is_scorer AND c.is_predict AND c.id = first_value(c.id) OVER (
      PARTITION BY NOT c.is_scorer AND c.is_predict ORDER BY c.started_at, c.id) AS is_prediction,
    c.id = first_value(c.id) OVER (PARTITION BY c.is_scorer, c.name ORDER BY c.started_at DESC, c.id DESC) AS is_last
  FROM ${computedOnce(
    sql`SELECT c.id, c.started_at, c.ended_at, c.usage, c.counts_gross,
      CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END AS output, ${scoreName} AS name,
      ${isScorer(sql`c`)} AS is_scorer, ${isPredict(sql`c`, sql`s.model`)} AS is_predict
    FROM calls c WHERE c.project_id = ${projectId} AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL`,
    'c',
  )}`;

/** A scorer by the name that trials have for it: `Judge.score` is `Judge`. */
const scoreName = sql`regexp_replace(${opName(sql`c`)}, '[.]score$', '')`;

/** One trial as it is scanned: `ScannedTrial` as an array. */
export function scanQuery(scan: Scan): Sql {
  const { projectId, rootIds, hasChildren, hasUsage, hasCosts, hasJudges, limit } = scan;
  const names = nameBytes();
  const hits = scan.conditions.map((query) => sql`(${compile(query, fieldsOfTrial)}) IS TRUE`);
  const keys = scan.fields.map(
    ({ field, path }) => sql`(${resolve(fieldsOfTrial, field, path, names).sql})::text`,
  );
  const below = sql`SELECT ${LATE_SCORES} AS late,
      ${hasUsage ? sql`(array_agg(${spent(projectId, hasCosts)}) FILTER (WHERE c.is_prediction))[1]` : sql`NULL::json`} AS spent,
      ${hasJudges ? sql`json_agg(${spent(projectId, true)}) FILTER (WHERE c.is_scorer AND c.usage IS NOT NULL)` : sql`NULL::json`} AS judges,
      (array_agg(${LATENCY_MS} / 1000) FILTER (WHERE c.is_prediction))[1] AS latency
    FROM (${children(projectId)}) c`;
  const withChildren = hasChildren
    ? lookedUp(below, 'k')
    : sql`CROSS JOIN (SELECT NULL::json AS late, NULL::json AS spent, NULL::json AS judges, NULL::float8 AS latency) k`;
  const isNamed = hits.length > 0 || keys.length > 0;
  const own = sql`, ${jsonValueAt(document('inputs'), ['example'])} AS example`;
  const named = isNamed
    ? sql`CROSS JOIN LATERAL ${computedOnce(
        sql`SELECT s.digest, s.output, s.is_opaque, ${joinedObjects(sql`s.scores`, sql`k.late`)} AS all_scores, ${exampleRow(projectId)} AS row`,
        't',
      )}`
    : sql``;
  return sql`
    SELECT json_build_array(s.id, s.parent_id, s.digest, (extract(epoch FROM s.started_at) * 1000000)::bigint, s.scores,
      k.late, coalesce(k.latency, ${OWN_LATENCY}), k.spent, k.judges, ARRAY[${join(hits)}]::boolean[], ARRAY[${join(keys)}]::text[])::text
    FROM unnest(${rootIds}::text[]) r (id)
    CROSS JOIN LATERAL ${trials(projectId, sql`c.parent_id = r.id`, isNamed ? own : sql``)}
    ${withChildren} ${named} LIMIT ${limit}::bigint`;
}

/** What the trial itself says of the latency of the model, in seconds. */
const OWN_LATENCY = sql`coalesce(
  skein_number(${jsonAt({ type: 'document', sql: sql`s.output`, isOpaque: sql`s.is_opaque` }, ['model_latency', 'mean']).sql}),
  skein_number(${jsonAt({ type: 'document', sql: sql`s.output`, isOpaque: sql`s.is_opaque` }, ['model_latency']).sql}))`;

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
  const child = sql`SELECT json_build_object('id', c.id, 'name', ${scoreName}, 'is_scorer', ${isScorer(sql`c`)},
      'is_predict', coalesce(${isPredict(sql`c`, sql`s.model`)}, false), 'latency', ${LATENCY_MS} / 1000,
      'spent', ${spent(projectId, hasCosts)}, 'spans', ${SPANS}, 'output', CASE WHEN ${isScorer(sql`c`)} AND (s.scores -> ${scoreName}) IS NULL THEN c.output END) AS child, c.started_at, c.id
    FROM calls c WHERE c.project_id = ${projectId} AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL`;
  const children = hasChildren
    ? sql`(SELECT coalesce(json_agg(c.child ORDER BY c.started_at, c.id), '[]') FROM (${child}) c)`
    : sql`'[]'::json`;
  return sql`
    SELECT json_build_object('id', s.id, 'output', ${modelOutput(sql`s`)}, 'scores', s.scores, 'raw', ${hasRaw ? sql`s.example` : sql`NULL::json`},
      'children', ${children}, 'spent', s.spent, 'spans', s.spans)::text
    FROM unnest(${trialIds}::text[]) r (id)
    ${lookedUp(
      sql`SELECT c.id, c.output, c.is_opaque, ${jsonAt(document('inputs'), ['model']).sql} AS model,
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

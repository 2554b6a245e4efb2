// SQL: rows of evaluations are grouped, filtered and scored in one pass over their trials.
import {
  column,
  type Columns,
  jsonAt,
  jsonValueAt,
  nameBudget,
  resolve,
} from '../../platform/query/columns.js';
import { compile } from '../../platform/query/expression.js';
import { computedOnce, lookedUp } from '../../platform/query/plans.js';
import { join, sql, type Sql } from '../../platform/query/sql.js';
import { visibleIn } from '../visible-calls.js';
import { keptRuns } from './kept-trials/kept-trials.query.js';
import {
  belowTrial,
  document,
  HAS_ROW_REF,
  SCORES,
  spendingJson,
  trialsWhere,
} from './trial-parts.query.js';

const NEVER = sql`FALSE`;

export interface TrialScan {
  projectId: string;
  rootIds: readonly string[];
  /** True to read scores. Digests are always read. */
  hasScores: boolean;
  /** True to read the calls below the trials. */
  hasChildren: boolean;
  hasUsage: boolean;
  hasCosts: boolean;
  /** True to read latencies and the scorers' spending. */
  isCompared: boolean;
  /** Conditions on trials, in the query language. */
  conditions: readonly object[];
  /** Fields of inputs and outputs whose values are read. */
  fields: readonly { field: string; path: string }[];
  limit: number;
}

/** Fields of a trial `t` that conditions and sort orders may name. */
const fieldsOfTrial: Columns = {
  scores: column.json(sql`t.all_scores`, NEVER),
  inputs: column.json(sql`t.row`, NEVER),
  output: column.json(sql`t.output`, sql`t.is_opaque`),
  outputs: column.json(sql`t.output`, sql`t.is_opaque`),
  row_digest: column.text(sql`t.digest`, { isNotNull: true }),
};

/** The inputs of a trial: the dataset row when the example is a ref, else the example. An opaque row is repaired. */
const exampleRow = (
  projectId: string,
) => sql`CASE WHEN NOT (${HAS_ROW_REF}) THEN ${jsonValueAt(document('inputs', sql`s`), ['example'])} ELSE (
  SELECT CASE WHEN r.is_opaque THEN skein_safe_json(r.val) ELSE r.val END
  FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = s.digest) END`;

/** Joins two objects as one text. They must have no key in common. */
const joinedObjects = (a: Sql, b: Sql) => sql`(CASE
  WHEN ${b} IS NULL THEN ${a} WHEN coalesce(${a}::text, '{}') ~ '^\\s*[{]\\s*[}]\\s*$' THEN ${b}
  ELSE (substr(rtrim(${a}::text, E' \\n\\r\\t'), 1, length(rtrim(${a}::text, E' \\n\\r\\t')) - 1) || ', ' || substr(${b}::text, 2))::json END)`;

/**
 * Reads trials as JSON texts: a `KeptChunk` for each chunk of kept trials, and a `ScannedTrial` for each trial of other
 * evaluations. It is one statement, so that calls, marks and kept trials come from one snapshot.
 */
export function scanQuery(scan: TrialScan): Sql {
  const { projectId, rootIds, conditions } = scan;
  return sql`
    WITH ${keptRuns(projectId, rootIds, conditions.length > 0)}
    SELECT k.json FROM kept_runs r ${lookedUp(keptChunks(scan), 'k')}
    UNION ALL
    (SELECT ${scannedTrial(scan)} FROM (
      SELECT r.id FROM unnest(${rootIds}::text[]) r (id) WHERE r.id NOT IN (SELECT id FROM kept_runs)) r
    ${scannedTrials(scan)} LIMIT ${scan.limit}::bigint)`;
}

const isBelowAsked = ({ hasChildren, hasScores, hasUsage }: TrialScan) =>
  hasChildren && (hasScores || hasUsage);
const isNamed = ({ conditions, fields }: TrialScan) => conditions.length + fields.length > 0;

function scannedTrial(scan: TrialScan): Sql {
  const values = [
    sql`s.id`,
    sql`s.parent_id`,
    sql`s.digest`,
    sql`date_part('epoch', s.started_at)`,
    ...(scan.hasScores ? [SCORES] : []),
    ...(isBelowAsked(scan) ? [sql`k.late`, sql`k.spent`, sql`k.latency`, sql`k.judges`] : []),
  ];
  const { hits, keys } = namedValues(scan);
  return sql`json_build_array(json_build_array(${join(values)})${isNamed(scan) ? sql`, ${hits}, ${keys}` : sql``})::text`;
}

function scannedTrials(scan: TrialScan): Sql {
  const { projectId, hasScores, hasUsage, hasCosts, isCompared } = scan;
  const spending = hasUsage ? (hasCosts ? 'priced' : 'counted') : null;
  const asked = belowTrial(projectId, { hasScores, spending, isCompared });
  const below = isBelowAsked(scan) ? lookedUp(asked, 'k') : sql``;
  const late = isBelowAsked(scan)
    ? sql`CASE WHEN json_typeof(k.late) = 'object' THEN k.late END`
    : sql`NULL::json`;
  return sql`CROSS JOIN LATERAL ${trialsWhere(projectId, sql`c.parent_id = r.id`, hasScores)}
    ${below} ${isNamed(scan) ? namedTrial(projectId, late) : sql``}`;
}

/** Joins the fields of the trial `s` that can be named, as `t`. */
const namedTrial = (projectId: string, late: Sql) =>
  sql`CROSS JOIN LATERAL ${computedOnce(
    sql`SELECT s.digest, s.output, s.is_opaque, ${joinedObjects(SCORES, late)} AS all_scores, ${exampleRow(projectId)} AS row`,
    't',
  )}`;

/** Returns the results of the conditions for the trial `t`, and its values of the fields. */
function namedValues({ conditions, fields }: TrialScan): { hits: Sql; keys: Sql } {
  const names = nameBudget();
  const hits = conditions.map((query) => sql`coalesce(${compile(query, fieldsOfTrial)}, false)`);
  const keys = fields.map(
    ({ field, path }) => sql`(${resolve(fieldsOfTrial, field, path, names).sql})::text`,
  );
  return {
    hits: sql`ARRAY[${join(hits)}]::boolean[]`,
    keys: sql`ARRAY[${join(keys)}]::text[]`,
  };
}

/**
 * Reads the chunks of the kept run `r`: the columns that the scan needs, with the conditions and fields of each trial.
 */
function keptChunks(scan: TrialScan): Sql {
  const { projectId, hasScores, hasCosts, hasChildren } = scan;
  const NONE = sql`NULL::json`;
  const { hits, keys } = namedValues(scan);
  const values = [
    sql`k.run_id`,
    sql`k.ids`,
    sql`k.digests`,
    sql`k.numbers`,
    hasScores ? sql`k.scores` : NONE,
    hasCosts && hasChildren ? pricedChunk(projectId) : NONE,
    ...(isNamed(scan) ? [sql`n.hits`, sql`n.keys`] : []),
  ];
  const named = sql`SELECT json_agg(${hits} ORDER BY s.n) AS hits, json_agg(${keys} ORDER BY s.n) AS keys
    FROM (${keptTrials(scan)}) s ${namedTrial(projectId, hasChildren ? sql`s.late` : NONE)}`;
  return sql`SELECT json_build_array(${join(values)})::text AS json FROM kept_trials k
    ${isNamed(scan) ? lookedUp(named, 'n') : sql``}
    WHERE k.project_id = ${projectId} AND k.run_id = r.id`;
}

/** Reads the trials `s` of the chunk `k`, with their documents when the scan names parts of them. */
function keptTrials(scan: TrialScan): Sql {
  const { projectId, hasScores } = scan;
  const ofScores = (place: number) => sql`json_array_elements(k.full_scores -> ${place}::int)`;
  const elements = sql`ROWS FROM (json_array_elements_text(k.ids), json_array_elements_text(k.digests)
    ${hasScores ? sql`, ${ofScores(0)}, ${ofScores(1)}` : sql``}) WITH ORDINALITY e (id, digest${hasScores ? sql`, scores, late` : sql``}, n)`;
  const scores = hasScores
    ? sql`e.scores, CASE WHEN json_typeof(e.late) = 'object' THEN e.late END AS late`
    : sql`NULL::json AS scores, NULL::json AS late`;
  const columns = sql`e.id, e.digest, e.n, ${scores}`;
  if (!namesDocuments(scan))
    return sql`SELECT ${columns}, false AS is_opaque, NULL::json AS inputs, NULL::json AS output, '{}' AS example_text FROM ${elements}`;
  return sql`SELECT ${columns}, c.* FROM ${elements} ${lookedUp(
    sql`SELECT c.is_opaque, c.inputs, c.output, ${jsonAt(document('inputs'), ['example']).sql} AS example_text
      FROM calls c WHERE ${visibleIn(projectId)} AND c.id = e.id`,
    'c',
  )}`;
}

/**
 * Returns true when the scan may name more than scores and digests. A name that is spelled in another way counts too.
 */
function namesDocuments({ conditions, fields }: TrialScan): boolean {
  const named = JSON.stringify(conditions).match(/"\$getField":.{0,12}/g) ?? [];
  return (
    fields.length > 0 || named.some((name) => !/^"\$getField":"(?:scores\.|row_digest")/.test(name))
  );
}

/** Usage of the predictions and scorers of the chunk `k`, with prices. */
function pricedChunk(projectId: string): Sql {
  const priced = (
    one: Sql,
  ) => sql`CASE WHEN json_typeof(${one}) = 'object' THEN (SELECT ${spendingJson(projectId, 'priced')}
    FROM (SELECT ${one} -> 'usage' AS usage, ${one} -> 'counts_gross' AS counts_gross,
      (${one} ->> 'started_at')::timestamptz AS started_at) c) END`;
  return sql`(SELECT json_build_array(json_agg(${priced(sql`e.spent`)} ORDER BY e.n), json_agg(
      CASE WHEN json_typeof(e.judges) = 'array' THEN (SELECT json_agg(${priced(sql`j.value`)}) FROM json_array_elements(e.judges) j) END
      ORDER BY e.n))
    FROM ROWS FROM (json_array_elements(k.spent -> 0), json_array_elements(k.spent -> 1)) WITH ORDINALITY e (spent, judges, n))`;
}

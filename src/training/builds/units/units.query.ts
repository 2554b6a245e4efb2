// SQL for units: selects, ranks and measures calls and feedback in the database.
import { isOfType } from '../../../tracing/feedback-names.query.js';
import { spellRefs } from '../../../platform/http/refs.js';
import {
  column,
  jsonAt,
  jsonValueAt,
  nameBudget,
  pathSteps,
  wireTime,
} from '../../../platform/query/columns.js';
import { allOf, isListed, join, sql, type Sql } from '../../../platform/query/sql.js';
import { isRoot, isTurn, visibleIn } from '../../../tracing/visible-calls.js';
import type { Recipe } from '../recipe/recipe.js';
import { lookedUp } from '../../../platform/query/plans.js';

/** Largest number of calls of a unit. A unit with more is left out. */
export const MAX_UNIT_CALLS = 5000;
/** Largest texts of one call and of a unit. Larger calls and units are left out. */
const MAX_CALL_BYTES = 8 * 1024 * 1024;
export const MAX_UNIT_BYTES = 48 * 1024 * 1024;
/** Feedback that is read of a call, and of a unit whose turns are rewarded one by one. The latest is read first. */
const MAX_FEEDBACK = 100;
const MAX_TURN_FEEDBACK = 1000;
/** Longer values are ignored. A list contains a number or a word for each choice. */
const MAX_VALUE_BYTES = 2048;

export const SNAPSHOT = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;

export const asOfQuery = () => sql<{ as_of: string }>`SELECT ${wireTime(sql`now()`)} AS as_of`;

/** The root of a unit; for a thread, its first turn. */
export interface RootRow {
  id: string;
  trace_id: string;
  thread_id: string | null;
  started_at: string;
  /** Values at the paths of `group.by`, as texts. */
  keys: (string | null)[];
}

export interface UnitSelection {
  projectId: string;
  recipe: Recipe;
  /** Condition of the recipe's filter and query on the call `c`. */
  condition: Sql;
  /** Takes only units that no succeeded job of this recipe and model has trained. */
  untrained: { recipeName: string; modelId: string | null } | null;
  /** Takes only units of this build. */
  of?: string | undefined;
}

export function unitsQuery({
  projectId,
  recipe,
  condition,
  untrained,
  of,
}: UnitSelection): Sql<RootRow> {
  const { unit, since, until, limit } = recipe.select;
  const id = unit === 'thread' ? sql`c.thread_id` : sql`c.id`;
  return sql`
    SELECT c.id, c.trace_id, c.thread_id, ${wireTime(sql`c.started_at`)} AS started_at
    FROM ${unit === 'thread' ? firstTurns(projectId) : sql`calls c`}
    WHERE ${allOf(
      visibleIn(projectId),
      isUnit(unit, projectId),
      condition,
      since && sql`c.started_at >= ${since}::timestamptz`,
      until && sql`c.started_at < ${until}::timestamptz`,
      untrained && sql`NOT ${isTrained(projectId, id, untrained)}`,
      of &&
        sql`${id} IN (SELECT u.unit_id FROM build_units u WHERE u.project_id = ${projectId} AND u.build_id = ${of}::uuid)`,
    )}
    ORDER BY c.started_at DESC, c.id DESC LIMIT ${limit}::bigint`;
}

function isUnit(unit: Recipe['select']['unit'], projectId: string): Sql {
  if (unit === 'trace') return isRoot(projectId);
  // a call without messages is not a call of a model
  return unit === 'call' ? sql`strpos(c.inputs::text, '"messages"') > 0` : isTurn;
}

const firstTurns = (projectId: string) => sql`(
  SELECT DISTINCT ON (c.thread_id) c.id AS first_id FROM calls c
  WHERE ${visibleIn(projectId)} AND ${isTurn} ORDER BY c.thread_id, c.started_at, c.id) f
  ${lookedUp(sql`SELECT c.* FROM calls c WHERE c.project_id = ${projectId} AND c.id = f.first_id`, 'c')}`;

const isTrained = (
  projectId: string,
  unitId: Sql,
  { recipeName, modelId }: NonNullable<UnitSelection['untrained']>,
) => sql`EXISTS (
  SELECT FROM build_units u
  JOIN builds b ON b.project_id = ${projectId} AND b.id = u.build_id
  JOIN build_jobs bj ON bj.project_id = ${projectId} AND bj.build_id = u.build_id
  JOIN training_jobs j ON j.project_id = ${projectId} AND j.id = bj.job_id
  WHERE u.project_id = ${projectId} AND u.unit_id = ${unitId} AND b.recipe_name = ${recipeName}
    AND j.status = 'succeeded' AND j.tainted_at IS NULL AND ${modelId ? sql`j.model_id = ${modelId}::uuid` : sql`TRUE`})`;

/** Reads the values at the paths of `group.by` in roots. Long values are replaced by their hash. */
export function keysQuery(
  projectId: string,
  ids: string[],
  values: Sql[],
): Sql<{ id: string; keys: (string | null)[] }> {
  const short = values.map(
    (value) => sql`CASE WHEN length(${value}) > 200
      THEN 'sha256:' || encode(sha256(convert_to(${value}, 'UTF8')), 'hex') ELSE ${value} END`,
  );
  return sql`SELECT c.id, ARRAY[${join(short)}]::text[] AS keys FROM calls c
    WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)}`;
}

export const firstPresent = (values: Sql[]): Sql => sql`coalesce(${join(values)})`;

export const turnsQuery = (projectId: string, threads: string[]) => sql<{
  thread_id: string;
  id: string;
  trace_id: string;
}>`
  SELECT t.thread_id, c.id, c.trace_id FROM unnest(${threads}::text[]) t (thread_id)
  CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.started_at FROM calls c
    WHERE ${visibleIn(projectId)} AND c.thread_id = t.thread_id AND ${isTurn}
    ORDER BY c.started_at, c.id LIMIT ${MAX_UNIT_CALLS}::bigint) c
  ORDER BY c.started_at, c.id`;

/** A call of a trace without its documents. */
export interface MemberRow {
  trace_id: string;
  id: string;
  parent_id: string | null;
  thread_id: string | null;
  op_name: string;
  started_at: string;
  is_running: boolean;
  has_failed: boolean;
  /** True when the last activity of the call is less than `select.settle_s` seconds ago. */
  is_young: boolean;
  /** True when the call scores other calls. */
  is_scorer: boolean;
  /** True when the call cannot be read, but its instrumentation marks it as a call of a model. */
  is_model: boolean;
  /** Stored bytes of the documents; null when the call cannot be read as a call of a model. */
  size: number | null;
}

const ATTRIBUTES = column.json(sql`c.attributes`, sql`c.is_opaque`);
const kindAt = (...path: string[]) => jsonAt(ATTRIBUTES, path).sql;

/** Instrumentations mark scorers in the attributes; weave's class for scorers has a method named `score`. */
const IS_SCORER = sql`(c.op_name ~ '(^|[/.])[A-Za-z0-9_-]*[.]score(:|$)'
  OR coalesce(${kindAt('weave', 'kind')} = 'scorer', false)
  OR coalesce(${kindAt('openinference.span.kind')} = 'EVALUATOR', false))`;

const MODEL_OPERATIONS = ['chat', 'text_completion', 'generate_content'];
const IS_MODEL = sql`(coalesce(${kindAt('weave', 'kind')} = 'llm', false)
  OR coalesce(${kindAt('openinference.span.kind')} = 'LLM', false)
  OR coalesce(${kindAt('gen_ai.operation.name')} = ANY(${MODEL_OPERATIONS}::text[]), false))`;

/** Counts the calls of traces, up to one more than a unit may have. */
export const sizesQuery = (projectId: string, traces: string[]) => sql<{
  trace_id: string;
  calls: number;
}>`
  SELECT t.trace_id, (SELECT count(*)::int FROM (SELECT FROM calls c WHERE ${visibleIn(projectId)}
    AND c.trace_id = t.trace_id LIMIT ${MAX_UNIT_CALLS + 1}::bigint) c) AS calls
  FROM unnest(${traces}::text[]) t (trace_id)`;

export const membersQuery = (
  projectId: string,
  traces: string[],
  settleSeconds: number,
) => sql<MemberRow>`
  SELECT c.trace_id, c.id, c.parent_id, c.thread_id, c.op_name, ${wireTime(sql`c.started_at`)} AS started_at,
    c.ended_at IS NULL AND c.exception IS NULL AS is_running, c.exception IS NOT NULL AS has_failed,
    coalesce(c.ended_at, c.started_at) > now() - make_interval(secs => ${settleSeconds}) AS is_young,
    ${IS_SCORER} AS is_scorer, CASE WHEN c.output IS NULL OR strpos(c.inputs::text, '"messages"') > 0 THEN false ELSE ${IS_MODEL} END AS is_model,
    CASE WHEN c.output IS NOT NULL AND strpos(c.inputs::text, '"messages"') > 0
      THEN pg_column_size(c.inputs) + pg_column_size(c.output) + pg_column_size(c.attributes) END AS size
  FROM unnest(${traces}::text[]) t (trace_id)
  JOIN calls c ON ${visibleIn(projectId)} AND c.trace_id = t.trace_id
  ORDER BY c.started_at, c.id`;

/** The stored texts of a call; the documents are null when they are too large. */
export interface TextsRow {
  id: string;
  bytes: number;
  op_name: string;
  started_at: string;
  exception: string | null;
  attributes: string | null;
  inputs: string | null;
  output: string | null;
  usage: string | null;
}

const SUMMARY = column.json(sql`c.summary`, sql`c.is_opaque`);

export function textsQuery(projectId: string, ids: string[]): Sql<TextsRow> {
  const fits = sql`c.bytes <= ${MAX_CALL_BYTES}::bigint`;
  return sql`
    SELECT c.id, c.bytes, c.op_name, ${wireTime(sql`c.started_at`)} AS started_at, c.exception, c.usage_text AS usage,
      CASE WHEN ${fits} THEN c.attributes::text END AS attributes,
      CASE WHEN ${fits} THEN c.inputs::text END AS inputs, CASE WHEN ${fits} THEN c.output::text END AS output
    FROM (SELECT c.*, coalesce(octet_length(c.attributes::text), 0) + coalesce(octet_length(c.inputs::text), 0)
        + coalesce(octet_length(c.output::text), 0) AS bytes, ${jsonValueAt(SUMMARY, ['usage'])}::text AS usage_text
      FROM calls c WHERE c.project_id = ${projectId} AND ${isListed(sql`c.id`, ids)}) c`;
}

/** SHA-256 of the texts of the call `c`, in hex. `hashCall` computes the same hash for the manifest of a build. */
export const textsSha256 = (): Sql => {
  const usage = jsonValueAt(SUMMARY, ['usage']);
  const texts = [
    sql`c.id`,
    sql`c.op_name`,
    wireTime(sql`c.started_at`),
    sql`c.exception`,
    sql`c.attributes::text`,
    sql`c.inputs::text`,
    sql`c.output::text`,
    sql`${usage}::text`,
  ].map((text) => sql`coalesce(octet_length(${text}) || ':' || ${text}, '-')`);
  return sql`encode(sha256(convert_to(${join(texts, ' || ')}, 'UTF8')), 'hex')`;
};

/** Feedback on the calls of units. Only types of the terms are read, the latest of each unit first. */
export interface UnitFeedbackRow {
  id: string;
  /** Index of the unit; `call` is the id of its call. */
  unit: number;
  call: string;
  sha256: string;
  values: (string | null)[];
}

const PAYLOAD = column.json(sql`f.payload`, sql`f.is_opaque`);

/** Selects the feedback on units. `units` contains the ids of the calls of each unit. */
export function feedbackQuery(
  projectId: string,
  units: readonly (readonly string[])[],
  { terms, credit }: Pick<Recipe['reward'], 'terms' | 'credit'>,
): Sql<UnitFeedbackRow> {
  const values = terms.map(({ feedback, path }) => {
    const value = jsonValueAt(PAYLOAD, pathSteps(path, 'reward.sum.path', nameBudget()));
    return sql`CASE WHEN ${isOfType(feedback)} AND octet_length(${value}::text) <= ${MAX_VALUE_BYTES}::int
      THEN ${value}::text END`;
  });
  const types = [...new Set(terms.map(({ feedback }) => feedback))];
  const on = units.flatMap((calls, unit) =>
    calls.flatMap((call) =>
      spellRefs(projectId, ['call'], [call]).map((ref) => ({ unit, call, ref })),
    ),
  );
  const most = credit === 'turn' ? MAX_TURN_FEEDBACK : MAX_FEEDBACK;
  return sql`
    SELECT f.id, f.unit, f.call, ARRAY[${join(values)}]::text[] AS values,
      encode(sha256(convert_to(f.feedback_type || E'\\n' || f.ref || E'\\n' || f.payload::text, 'UTF8')), 'hex') AS sha256
    FROM (SELECT r.unit, r.call, f.*, row_number() OVER (PARTITION BY r.unit ORDER BY f.created_at DESC, f.id DESC) AS place
      FROM unnest(${on.map(({ ref }) => ref)}::text[], ${on.map(({ unit }) => unit)}::int[],
        ${on.map(({ call }) => call)}::text[]) r (ref, unit, call)
      CROSS JOIN LATERAL (SELECT f.* FROM feedback f
        WHERE f.project_id = ${projectId} AND f.ref = r.ref AND ${isOfType(...types)}
        ORDER BY f.created_at DESC, f.id DESC LIMIT ${MAX_FEEDBACK}::bigint) f) f
    WHERE f.place <= ${most}::bigint
    ORDER BY f.unit, f.place`;
}

export const latestStepQuery = (projectId: string, name: string) => sql<{
  id: string;
  step: number | null;
}>`
  SELECT m.id, (SELECT max(step) FROM checkpoints c WHERE c.project_id = ${projectId} AND c.model_id = m.id) AS step
  FROM models m WHERE m.project_id = ${projectId} AND m.name = ${name} AND m.deleted_at IS NULL`;

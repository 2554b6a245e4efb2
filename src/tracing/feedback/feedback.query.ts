// SQL: payloads are JSON text, and a repeated row is compared with the stored one.
import { inBothSpellings, perDialect, wire } from '../../platform/http/wire-names.js';
import { lock, textLock } from '../../platform/database/advisory-locks.js';
import {
  column,
  type Columns,
  InvalidQuery,
  jsonValueAt,
  nameBudget,
  orderBy,
  page,
  select,
  pathSteps,
  storable,
  unknownField,
} from '../../platform/query/columns.js';
import { compile } from '../../platform/query/expression.js';
import { allOf, identifier, join, sql, type Sql } from '../../platform/query/sql.js';
import {
  isShown,
  refColumn,
  SCORER_JSON,
  SCORER_TEXTS,
  scorerValue,
  typeColumn,
} from '../feedback-names.query.js';
import type { FeedbackCreateDto, FeedbackPurgeDto, FeedbackQueryDto } from './feedback.dto.js';

/** Locks one row of feedback while it is replaced. */
const REPLACE_LOCK = textLock(0x6664626b);

export const PAYLOAD = column.json(sql`f.payload`, sql`f.is_opaque`);

const feedbackColumns = perDialect((): Columns =>
  inBothSpellings({
    id: column.text(sql`f.id`, { isNotNull: true }),
    project_id: column.text(sql`f.project_id`, { isNotNull: true }),
    created_at: column.time(sql`f.created_at`, { isNotNull: true }),
    [wire().ref]: refColumn(sql`f.ref`, { isNotNull: true }),
    feedback_type: typeColumn(),
    payload: PAYLOAD,
    creator: column.text(sql`f.creator`),
    annotation_ref: refColumn(sql`f.annotation_ref`),
    runnable_ref: refColumn(sql`f.runnable_ref`),
    call_ref: refColumn(sql`f.call_ref`),
    trigger_ref: refColumn(sql`f.trigger_ref`),
    queue_id: column.text(sql`f.queue_id`),
    ...Object.fromEntries(
      SCORER_JSON.map((name) => [name, column.json(scorerValue(name), sql`false`)]),
    ),
    ...Object.fromEntries(
      SCORER_TEXTS.map((name) => [name, column.text(scorerValue(name), { isNotNull: true })]),
    ),
    [wire().userId]: column.text(sql`f.user_id`, { isNotNull: true }),
  }),
);

const createdFields = () => ['id', 'created_at', wire().userId, 'payload'];

export interface NewFeedback {
  id: string;
  body: FeedbackCreateDto;
  /** JSON text. */
  payload: string;
  isOpaque: boolean;
  userName: string;
  /** Times of the events that set the members of a score. The JSON is read only by the door that wrote it. */
  eventTimes?: string;
}

type StoredColumn = [column: string, type: string, value: string | null];

/**
 * Stores a row, or reads the row with its id and reports whether both are equal. The update changes nothing, but `DO
 * NOTHING` would return no row, and a separate read would race with a purge.
 */
export function insertQuery({
  id,
  body,
  payload,
  isOpaque,
  userName,
  eventTimes,
}: NewFeedback): Sql<{ json: string; is_same: boolean }> {
  const stored: StoredColumn[] = [
    ['feedback_type', 'text', body.feedback_type],
    ['ref', 'text', body.svc_ref],
    ['annotation_ref', 'text', body.annotation_ref ?? null],
    ['runnable_ref', 'text', body.runnable_ref ?? null],
    ['call_ref', 'text', body.call_ref ?? null],
    ['trigger_ref', 'text', body.trigger_ref ?? null],
    ['queue_id', 'text', body.queue_id ?? null],
    ['creator', 'text', body.creator ?? null],
    ...SCORER_TEXTS.map((name): StoredColumn => [name, 'text', body[name] ?? null]),
    ...SCORER_JSON.map((name): StoredColumn => [
      name,
      'json',
      body[name] === null || body[name] === undefined ? null : JSON.stringify(body[name]),
    ]),
    ['payload', 'json', payload],
    ...(eventTimes === undefined
      ? []
      : [['event_times', 'json', eventTimes] satisfies StoredColumn]),
  ];
  const names = stored.map(([name]) => identifier(name));
  const values = stored.map(([, type, value]) => sql`${value}::${identifier(type)}`);
  const isSame = stored.map(
    ([name, , value]) => sql`f.${identifier(name)}::text IS NOT DISTINCT FROM ${value}::text`,
  );
  return sql`
    WITH f AS (
      INSERT INTO feedback AS f (project_id, id, user_id, is_opaque, ${join(names)})
      VALUES (${body.project_id}, ${id}, ${userName}, ${isOpaque}::boolean, ${join(values)})
      ON CONFLICT (project_id, id) DO UPDATE SET id = f.id
      RETURNING *)
    SELECT (SELECT row_to_json(t)::text FROM (SELECT ${select(feedbackColumns(), createdFields())}) t) AS json,
      (${join(isSame, ' AND ')}) AS is_same FROM f`;
}

const matching = ({ project_id, query }: { project_id: string; query?: object | null }) =>
  allOf(sql`f.project_id = ${project_id}`, query && compile(query, feedbackColumns()));

/** Reads the rows of a query as JSON texts, in the requested order; by default the oldest first. */
export function feedbackQuery(request: FeedbackQueryDto): Sql {
  const { fields, sort_by } = request;
  const sorts = sort_by?.length ? sort_by : OLDEST_FIRST;
  return sql`SELECT ${asJson(fields)} AS json FROM (
    SELECT f.* FROM feedback f WHERE ${matching(request)} AND ${isShown(request.project_id)} ${orderBy(feedbackColumns(), sorts, 'id')}
    ${page(request)}) f`;
}

/** Each path parses the payload, of up to 1 MiB, once more. */
const MAX_PATHS = 250;
/** How often any part of a payload may occur in the answer of its row. */
const MAX_REPEATS = 4;

const OLDEST_FIRST = [{ field: 'created_at', direction: 'asc' }] as const;

/**
 * Selects whole fields, then values at paths into the payload, each under its path as requested. Paths cannot be column
 * aliases, because PostgreSQL cuts names after 63 bytes.
 */
function asJson(fields: readonly string[] | null | undefined): Sql {
  const names = fields?.length ? [...new Set(fields)] : Object.keys(feedbackColumns());
  const paths = names.filter((name) => name.startsWith('payload.'));
  const wholes = names.filter((name) => !name.startsWith('payload.'));
  for (const name of wholes)
    if (!Object.hasOwn(feedbackColumns(), name))
      throw unknownField(name, `fields[${fields!.indexOf(name)}]`);
  const whole = sql`(SELECT row_to_json(t)::text FROM (SELECT ${select(feedbackColumns(), wholes)}) t)`;
  if (paths.length === 0) return whole;
  if (paths.length > MAX_PATHS)
    throw new InvalidQuery('fields', `must not hold more than ${MAX_PATHS} paths into the payload`);
  const bytes = nameBudget();
  const steps = paths.map((path) => pathSteps(path, 'fields', bytes).slice(1));
  if (repeats(wholes.includes('payload') ? [[], ...steps] : steps) > MAX_REPEATS)
    throw new InvalidQuery(
      'fields',
      `must not ask for the same part of the payload more than ${MAX_REPEATS} times`,
    );
  const members = paths.map((path, i) => {
    const value = jsonValueAt(PAYLOAD, steps[i]!);
    return sql`${`${JSON.stringify(path)}:`}::text || coalesce(${value}::text, 'null')`;
  });
  const all = wholes.length > 0 ? [sql`substr(left(${whole}, -1), 2)`, ...members] : members;
  return sql`'{' || array_to_string(ARRAY[${join(all)}], ',') || '}'`;
}

/** A step of paths: how many paths end here, and the steps that follow. */
interface Branch {
  ends: number;
  next: Map<string, Branch>;
}

/** Returns the largest number of paths to one value or to a container of it. `0` and `00` are the same array index. */
function repeats(paths: readonly (readonly string[])[]): number {
  const root: Branch = { ends: 0, next: new Map() };
  for (const path of paths) {
    let branch = root;
    for (const step of path) {
      const name = storable(step).replace(/^0+(?=\d+$)/, '');
      const found = branch.next.get(name) ?? { ends: 0, next: new Map() };
      branch.next.set(name, found);
      branch = found;
    }
    branch.ends += 1;
  }
  return mostEnds(root);
}

const mostEnds = ({ ends, next }: Branch): number =>
  ends + Math.max(0, ...Array.from(next.values(), mostEnds));

export const countQuery = (request: FeedbackQueryDto): Sql<{ total_count: number }> =>
  sql`SELECT count(*)::int AS total_count FROM feedback f WHERE ${matching(request)} AND ${isShown(request.project_id)}`;

/** The table and condition of the feedback that a purge deletes. */
export const purgedFeedback = (request: FeedbackPurgeDto) =>
  sql`feedback f WHERE ${matching(request)}`;

/** Purges feedback on deleted calls too. */
export const purgeQuery = (request: FeedbackPurgeDto): Sql<{ num_purged: number }> => sql`
  WITH gone AS (DELETE FROM ${purgedFeedback(request)} RETURNING 1)
  SELECT count(*)::int AS num_purged FROM gone`;

/** The stored row that a later event may change or leave as it is. */
export interface MergeableFeedback {
  feedback_type: string;
  ref: string;
  payload: string;
  event_times: string | null;
}

export const mergeableQuery = (projectId: string, id: string): Sql<MergeableFeedback> => sql`
  SELECT f.feedback_type, f.ref, f.payload::text AS payload, f.event_times::text AS event_times
  FROM feedback f WHERE f.project_id = ${projectId} AND f.id = ${id}`;

/** Deletes feedback that is replaced, and returns its ref. */
export const replacedDelete = (projectId: string, id: string) => sql<{ ref: string }>`
  DELETE FROM feedback WHERE project_id = ${projectId} AND id = ${id} RETURNING ref`;

/** Locks the row with an id until the transaction that replaces it ends. */
export const lockQuery = (projectId: string, id: string): Sql =>
  lock(REPLACE_LOCK, `${projectId}\n${id}`);

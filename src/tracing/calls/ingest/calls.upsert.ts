import { jsonArray, textArray } from '../../../platform/query/binary-array.js';
import {
  identifier,
  join,
  prepared,
  type Prepared,
  type Sql,
  sql,
} from '../../../platform/query/sql.js';
import type { CallWrite } from './calls.writer.js';
import { withLogged } from '../messages/call-messages.query.js';

/** The values of a start and an end, each as the text of its column's type. */
const START_TEXTS = [
  'op_name',
  'started_at',
  'display_name',
  'trace_id',
  'parent_id',
  'thread_id',
  'turn_id',
  'run_id',
  'run_step',
  'user_id',
  'new_trace',
  'counts_gross',
] as const;
const END_TEXTS = [
  'ended_at',
  'exception',
  'run_step_end',
  'end_started_at',
  'end_trace_id',
  'has_descendant_error',
  'response_id',
] as const;
const START_DOCUMENTS = ['attributes', 'inputs', 'otel_dump'] as const;
const END_DOCUMENTS = ['summary', 'output', 'usage'] as const;

type Columns<Names extends readonly string[]> = {
  [Name in Names[number]]: string | null | undefined;
};
/** `new_trace` is the trace of a start that names none and whose parent is not stored. */
export type StartColumns = Columns<typeof START_TEXTS> & Columns<typeof START_DOCUMENTS>;
/** `end_started_at` and `end_trace_id` count until the start is stored. */
export type EndColumns = Columns<typeof END_TEXTS> & Columns<typeof END_DOCUMENTS>;

const TEXTS = ['project_id', 'id', 'is_opaque', ...START_TEXTS, ...END_TEXTS] as const;
const DOCUMENTS = [...START_DOCUMENTS, ...END_DOCUMENTS] as const;

const IS_START = sql`excluded.op_name IS NOT NULL`;
const IS_END = sql`excluded.ended_at IS NOT NULL`;

const list = (names: readonly string[]) => join(names.map(identifier));

const replacedWhen = (isBrought: Sql, ...columns: string[]) =>
  join(
    columns.map((name) => {
      const column = identifier(name);
      return sql`${column} = CASE WHEN ${isBrought} THEN excluded.${column} ELSE c.${column} END`;
    }),
  );

/** Values that an end may have too: the start's own value wins. */
const startsValue = (name: string) => {
  const column = identifier(name);
  return sql`CASE WHEN ${IS_START} THEN coalesce(excluded.${column}, c.${column}) ELSE coalesce(c.${column}, excluded.${column}) END`;
};

/** Values of a start or an end, to which log records may add: docs/adr/0059-messages-in-logs.md. */
const loggedWhen = (isBrought: Sql, side: 'inputs' | 'output') => {
  const [column, own] = [identifier(side), identifier(`own_${side}`)];
  const brought = sql`CASE WHEN ${isBrought} THEN excluded.${column} ELSE c.${own} END`;
  return sql`
    ${own} = CASE WHEN c.logged IS NOT NULL THEN ${brought} END,
    ${column} = CASE WHEN c.logged IS NOT NULL THEN ${withLogged(brought, sql`c.logged`, startsValue('trace_id'), side)}
      WHEN ${isBrought} THEN excluded.${column} ELSE c.${column} END`;
};

interface Merged {
  project_id: string;
  id: string;
  trace_id: string;
}

const UPSERT = sql<Merged>`
  INSERT INTO calls AS c (
    project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, run_id,
    run_step, user_id, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
    ${list(DOCUMENTS)})
  SELECT project_id, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
    CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(
      trace_id, skein_trace(project_id, id), skein_trace(project_id, parent_id), end_trace_id, new_trace) END,
    parent_id, thread_id, turn_id, run_id, run_step::int, user_id, ended_at::timestamptz, exception, run_step_end::int,
    coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false, ${list(DOCUMENTS)}
  FROM unnest(
    ${join(TEXTS.map(() => sql`${null}::text[]`))},
    ${join(DOCUMENTS.map(() => sql`${null}::json[]`))}) AS w (${list([...TEXTS, ...DOCUMENTS])})
  ORDER BY project_id COLLATE "C", id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
    op_name = coalesce(excluded.op_name, c.op_name),
    display_name = CASE WHEN ${IS_START} AND c.op_name IS NULL AND c.display_name IS NOT NULL THEN nullif(c.display_name, '')
      ELSE coalesce(excluded.display_name, c.display_name) END,
    started_at = ${startsValue('started_at')}, trace_id = ${startsValue('trace_id')},
    ${replacedWhen(IS_START, 'parent_id', 'thread_id', 'turn_id', 'run_id', 'run_step', 'user_id', 'attributes', 'otel_dump', 'counts_gross')},
    ${replacedWhen(IS_END, 'ended_at', 'exception', 'run_step_end', 'has_descendant_error', 'response_id', 'summary', 'usage')},
    ${loggedWhen(IS_START, 'inputs')}, ${loggedWhen(IS_END, 'output')},
    is_opaque = c.is_opaque OR excluded.is_opaque`;

const QUIET = prepared('calls.upsert', UPSERT);
const ANSWERING = prepared(
  'calls.upsert.traces',
  sql<Merged>`${UPSERT} RETURNING project_id, id, trace_id`,
);

/**
 * Merges starts and ends into `calls`, one statement for all of them, prepared once a connection; each column travels
 * as one array (the figures: docs/adr/0004-write-path.md). Each call is there at most once. What a start or an end
 * brings replaces what an earlier one brought, side by side and in any order; neither touches the other's columns. A
 * `display_name` that a start leaves out stays, since `/call/update` may have set it, and so does one that came before the
 * start: `updateQuery`. Rows are locked in the order of
 * their key, so that concurrent statements wait for each other instead of deadlocking. Answers the traces of the calls
 * when a start leaves its own to be found.
 */
export function upsertQuery(writes: readonly CallWrite[]): Prepared<Merged> {
  const isKnown = writes.every(({ start, traceId }) => !start || traceId);
  const texts = (value: (write: CallWrite) => string | null | undefined) =>
    textArray(writes.map(value));
  return {
    ...(isKnown ? QUIET : ANSWERING),
    values: [
      texts(({ projectId }) => projectId),
      texts(({ id }) => id),
      texts(({ isOpaque }) => String(isOpaque)),
      ...START_TEXTS.map((name) => texts(({ start }) => start?.[name])),
      ...END_TEXTS.map((name) => texts(({ end }) => end?.[name])),
      ...START_DOCUMENTS.map((name) => jsonArray(writes.map(({ start }) => start?.[name]))),
      ...END_DOCUMENTS.map((name) => jsonArray(writes.map(({ end }) => end?.[name]))),
    ],
  };
}

import { hasOpaqueEscapes, memberSpans } from '../common/json-text.js';
import { WIRE } from '../common/wire.js';
import { identifier, join, sql, type Sql } from '../query/sql.js';

/** Free-form members of a start and of an end. In an opaque row they are JSON strings that hold the JSON text. */
export const START_DOCUMENTS = ['attributes', 'inputs', 'otel_dump'] as const;
export const END_DOCUMENTS = ['summary', 'output'] as const;

/** The members of a start that are stored as they stand. */
export const START_FIELDS = [
  'project_id',
  'id',
  'op_name',
  'started_at',
  'display_name',
  'trace_id',
  'parent_id',
  'thread_id',
  'turn_id',
  WIRE.runId,
] as const;

/** The members of an end that are stored as they stand. */
export const END_FIELDS = [
  'project_id',
  'id',
  'ended_at',
  'exception',
  'started_at',
  'trace_id',
] as const;

/**
 * What the server adds to the text of a start or end. They stand last, and the last member of a name counts, so that
 * a client cannot set them.
 */
export interface ServerFields {
  id: string;
  /** The start's or end's documents are strings that hold JSON. */
  skein_opaque: boolean;
  /** Of a start, as a plain integer: a spelling such as `1e0` is for JavaScript only. */
  [WIRE.runStep]?: number | null;
  [WIRE.runStepEnd]?: number | null;
  /** User of the key. */
  skein_user?: string;
  /** Trace of a start that names none and whose parent is not stored. */
  skein_trace?: string;
  /** The end's `has_descendant_error`. */
  skein_failed?: boolean;
}

/**
 * The text of a start or end as `upsertQuery` takes it: the request's own text, with the server's members behind it.
 * Where PostgreSQL could not take the text apart, only the known members are kept, and the documents are quoted.
 */
export function rowText(
  text: string,
  fields: readonly string[],
  documents: readonly string[],
  server: Omit<ServerFields, 'skein_opaque'>,
): string {
  const isOpaque = hasOpaqueEscapes(text);
  const added = JSON.stringify({ ...server, skein_opaque: isOpaque }).slice(1);
  if (!isOpaque) return `${text.slice(0, -1)},${added}`;
  const members = [
    ...membersOf(text, fields, (json) => json),
    ...membersOf(text, documents, (json) => (json === 'null' ? json : JSON.stringify(json))),
  ];
  return `{${members.join(',')},${added}`;
}

/** The object that is the text with no other members than those named. */
export const picked = (text: string, names: readonly string[]): string =>
  `{${membersOf(text, names, (json) => json).join(',')}}`;

function membersOf(text: string, names: readonly string[], spelled: (json: string) => string) {
  const spans = memberSpans(text, 0);
  return names.flatMap((name) => {
    const span = spans.get(name);
    return span ? `${JSON.stringify(name)}:${spelled(text.slice(...span))}` : [];
  });
}

const RUN_ID = identifier(WIRE.runId);
const RUN_STEP = identifier(WIRE.runStep);
const RUN_STEP_END = identifier(WIRE.runStepEnd);

/** A free-form member of a row: in an opaque one it is a string that holds the JSON. */
function document(row: 's' | 'e', name: string): Sql {
  const value = sql`${identifier(row)}.${identifier(name)}`;
  return sql`CASE WHEN ${identifier(row)}.skein_opaque THEN (${value} #>> '{}')::json ELSE ${value} END`;
}

const IS_START = sql`excluded.op_name IS NOT NULL`;
const IS_END = sql`excluded.ended_at IS NOT NULL`;

const replacedWhen = (isBrought: Sql, ...columns: string[]) =>
  join(
    columns.map((name) => {
      const column = identifier(name);
      return sql`${column} = CASE WHEN ${isBrought} THEN excluded.${column} ELSE c.${column} END`;
    }),
    ', ',
  );

/** What an end may bring too: the start's own value wins. */
const startsValue = (name: string) => {
  const column = identifier(name);
  return sql`${column} = CASE WHEN ${IS_START} THEN coalesce(excluded.${column}, c.${column}) ELSE coalesce(c.${column}, excluded.${column}) END`;
};

/**
 * Merges starts and ends into `calls`, one statement for all of them: both arrays are JSON text, taken apart by
 * PostgreSQL (the figures: docs/adr/0004-write-path.md). Each holds a call at most once. What a start or an end brings
 * replaces what an earlier one brought, side by side and in any order; neither touches the other's columns. A
 * `display_name` that a start leaves out stays, since `/call/update` may have set it. Rows are locked in the order of
 * their key, so that concurrent statements wait for each other instead of deadlocking.
 */
export const upsertQuery = (starts: string, ends: string): Sql => sql`
  INSERT INTO calls AS c (
    project_id, id, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, run_id, run_step, user_id,
    attributes, inputs, otel_dump, ended_at, exception, run_step_end, summary, output, is_opaque, has_descendant_error)
  SELECT project_id, id, s.op_name, coalesce(s.started_at, e.started_at), s.display_name,
    CASE WHEN s.op_name IS NULL THEN e.trace_id ELSE coalesce(s.trace_id,
      (SELECT k.trace_id FROM calls k WHERE k.project_id = s.project_id AND k.id = s.id),
      (SELECT p.trace_id FROM calls p WHERE p.project_id = s.project_id AND p.id = s.parent_id),
      e.trace_id, s.skein_trace) END,
    s.parent_id, s.thread_id, s.turn_id, s.${RUN_ID}, s.${RUN_STEP}, s.skein_user,
    CASE WHEN s.op_name IS NOT NULL THEN coalesce(${document('s', 'attributes')}, '{}') END,
    CASE WHEN s.op_name IS NOT NULL THEN coalesce(${document('s', 'inputs')}, '{}') END,
    ${document('s', 'otel_dump')},
    e.ended_at, e.exception, e.${RUN_STEP_END}, ${document('e', 'summary')}, ${document('e', 'output')},
    coalesce(s.skein_opaque, false) OR coalesce(e.skein_opaque, false), coalesce(e.skein_failed, false)
  FROM json_to_recordset(${starts}::json) AS s (
    project_id text, id text, op_name text, started_at timestamptz, display_name text, trace_id text, parent_id text,
    thread_id text, turn_id text, ${RUN_ID} text, ${RUN_STEP} int, attributes json, inputs json, otel_dump json,
    skein_user text, skein_opaque boolean, skein_trace text)
  FULL JOIN json_to_recordset(${ends}::json) AS e (
    project_id text, id text, ended_at timestamptz, exception text, ${RUN_STEP_END} int, started_at timestamptz,
    trace_id text, summary json, output json, skein_opaque boolean, skein_failed boolean) USING (project_id, id)
  ORDER BY project_id COLLATE "C", id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
    op_name = coalesce(excluded.op_name, c.op_name),
    display_name = coalesce(excluded.display_name, c.display_name),
    ${startsValue('started_at')}, ${startsValue('trace_id')},
    ${replacedWhen(IS_START, 'parent_id', 'thread_id', 'turn_id', 'run_id', 'run_step', 'user_id', 'attributes', 'inputs', 'otel_dump')},
    ${replacedWhen(IS_END, 'ended_at', 'exception', 'run_step_end', 'summary', 'output', 'has_descendant_error')},
    is_opaque = c.is_opaque OR excluded.is_opaque
  RETURNING project_id, id, trace_id`;

import { jsonArray, textArray } from '../../../platform/query/binary-array.js';
import {
  identifier,
  join,
  Parameter,
  prepared,
  type PreparedStatement,
  type Sql,
  sql,
} from '../../../platform/query/sql.js';
import { withLogged } from '../messages/call-messages.query.js';

/**
 * The values of a start and an end, each as the text of its column's type, and their documents. A batch of which no write has a
 * value of a group sends no arrays for it, since PostgreSQL makes a table of each array.
 */
const START_TEXTS = ['op_name', 'started_at', 'trace_id', 'user_id', 'counts_gross'] as const;
const MORE_START_TEXTS = [
  'display_name',
  'parent_id',
  'is_orphan',
  'thread_id',
  'turn_id',
  'thread_source',
  'run_id',
  'run_step',
] as const;
/** Of spans of agents: docs/adr/0135-agents.md. */
const AGENT_TEXTS = ['operation', 'agent_name', 'agent_version', 'linked_call_id'] as const;
/** `CallSources` finds `source`; null is production. `own_source` is what the call says itself. */
const SOURCE_TEXTS = ['source', 'own_source'] as const;
/** Of calls that events change: docs/adr/0055-langfuse.md. */
const EVENT_DOCUMENTS = ['event_times'] as const;
const NEW_TRACE = ['new_trace'] as const;
const END_TEXTS = ['ended_at'] as const;
const MORE_END_TEXTS = [
  'exception',
  'run_step_end',
  'end_started_at',
  'end_trace_id',
  'has_descendant_error',
  'response_id',
] as const;
const START_DOCUMENTS = ['attributes', 'inputs'] as const;
const MORE_START_DOCUMENTS = ['otel_dump'] as const;
const END_DOCUMENTS = ['summary', 'output', 'usage'] as const;

type ColumnTexts<Names extends readonly string[]> = {
  [Name in Names[number]]: string | null | undefined;
};
/** What a span says of agents. `linked_call_id` is a call of another trace in which it ran. */
export type AgentColumns = ColumnTexts<typeof AGENT_TEXTS>;
/** `new_trace` is the trace of a start that names none and whose parent is not stored. `markOrphans` sets `is_orphan`. */
type StartColumns = Partial<AgentColumns> &
  Partial<ColumnTexts<typeof SOURCE_TEXTS>> &
  Partial<ColumnTexts<typeof EVENT_DOCUMENTS>> &
  ColumnTexts<typeof START_TEXTS> &
  ColumnTexts<typeof MORE_START_TEXTS> &
  ColumnTexts<typeof NEW_TRACE> &
  ColumnTexts<typeof START_DOCUMENTS> &
  ColumnTexts<typeof MORE_START_DOCUMENTS>;
/** `end_started_at` and `end_trace_id` count until the start is stored. */
type EndColumns = ColumnTexts<typeof END_TEXTS> &
  ColumnTexts<typeof MORE_END_TEXTS> &
  ColumnTexts<typeof END_DOCUMENTS>;

/** The start, the end, or both of one call. */
export interface CallWrite {
  projectId: string;
  id: string;
  start?: StartColumns;
  end?: EndColumns;
  /** A document of it spells what PostgreSQL's json functions refuse: `hasOpaqueEscapes`. */
  isOpaque: boolean;
  /** Of the start: its own, or set when the write is committed. */
  traceId?: string | null;
}

const DOCUMENTS = [
  ...START_DOCUMENTS,
  ...MORE_START_DOCUMENTS,
  ...EVENT_DOCUMENTS,
  ...END_DOCUMENTS,
] as const;

interface ColumnGroup {
  side: 'start' | 'end';
  texts: readonly string[];
  documents: readonly string[];
}
const COLUMN_GROUPS: readonly ColumnGroup[] = [
  { side: 'start', texts: START_TEXTS, documents: START_DOCUMENTS },
  { side: 'start', texts: MORE_START_TEXTS, documents: MORE_START_DOCUMENTS },
  { side: 'start', texts: NEW_TRACE, documents: [] },
  { side: 'start', texts: AGENT_TEXTS, documents: [] },
  { side: 'start', texts: SOURCE_TEXTS, documents: [] },
  { side: 'start', texts: [], documents: EVENT_DOCUMENTS },
  { side: 'end', texts: END_TEXTS, documents: END_DOCUMENTS },
  { side: 'end', texts: MORE_END_TEXTS, documents: [] },
];

/**
 * An end that is older than the stored one, or what is known of a call that runs although its end is stored: a body that was sent
 * again, or came late. Events have times of their own, by which they were put together.
 */
const IS_OLDER_END = sql`(c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))`;
/** A span that still ran when it was exported, although it is stored with its end. */
const IS_RUNNING_SPAN = sql`(excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)`;
/** A start counts unless it came with an older end, or is an older state of a span. */
const IS_START = sql`(excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT (${IS_OLDER_END} OR ${IS_RUNNING_SPAN})))`;
/** A call that runs may have an output or a usage already. */
const IS_END = sql`((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT ${IS_OLDER_END})`;
/** `updateQuery` has set the name, perhaps in an earlier version and before the start. */
const IS_RENAMED = sql`(c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL))`;

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

interface UpsertedCall {
  project_id: string;
  id: string;
  trace_id: string;
}

/** The statement for these groups. `upsertQuery` has the values in the order in which the parameters stand here. */
function upsert(groups: readonly ColumnGroup[]): Sql<UpsertedCall> {
  const texts = ['id', 'is_opaque', ...groups.flatMap((group) => group.texts)];
  const documents = groups.flatMap((group) => group.documents);
  const absent = COLUMN_GROUPS.filter((group) => !groups.includes(group));
  const isAnswering = groups.some((group) => group.texts === NEW_TRACE);
  const project = new Parameter(null);
  const arrays = new Map(texts.map((name) => [name, sql`${new Parameter(null)}::text[]`]));
  const [ids, parents, newTraces] = ['id', 'parent_id', 'new_trace'].map((name) =>
    arrays.get(name),
  );
  const columns = [...arrays.values(), ...documents.map(() => sql`${null}::json[]`)];
  const names = [...texts, ...documents];
  const others = absent.flatMap((group) => [
    ...group.texts.map((name) => sql`NULL::text AS ${identifier(name)}`),
    ...group.documents.map((name) => sql`NULL::json AS ${identifier(name)}`),
  ]);
  if (isAnswering) {
    columns.push(sql`skein_traces(${project}, ${ids}, ${parents}, ${newTraces})`);
    names.push('found_trace');
  } else others.push(sql`NULL::text AS found_trace`);
  return sql<UpsertedCall>`
  INSERT INTO calls AS c (
    project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
    run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
    source, own_source, ${list(AGENT_TEXTS)}, ${list(DOCUMENTS)})
  SELECT ${project}::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
    CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
    parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
    coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
    coalesce(source, 'production'), own_source, ${list(AGENT_TEXTS)}, ${list(DOCUMENTS)}
  FROM (SELECT ${join([sql`w.*`, ...others])} FROM unnest(${join(columns)}) AS w (${list(names)})) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
    display_name = CASE WHEN NOT ${IS_START} THEN c.display_name WHEN ${IS_RENAMED} THEN nullif(c.display_name, '')
      ELSE coalesce(excluded.display_name, c.display_name) END,
    started_at = ${startsValue('started_at')}, trace_id = ${startsValue('trace_id')},
    ${replacedWhen(IS_START, 'op_name', 'parent_id', 'is_orphan', 'thread_id', 'turn_id', 'thread_source', 'run_id', 'run_step', 'user_id', 'attributes', 'otel_dump', 'counts_gross', ...SOURCE_TEXTS, ...AGENT_TEXTS, ...EVENT_DOCUMENTS)},
    ${replacedWhen(IS_END, 'ended_at', 'exception', 'run_step_end', 'has_descendant_error', 'response_id', 'summary', 'usage')},
    ${loggedWhen(IS_START, 'inputs')}, ${loggedWhen(IS_END, 'output')},
    is_opaque = c.is_opaque OR excluded.is_opaque
  ${isAnswering ? sql`RETURNING project_id, id, trace_id` : sql``}`;
}

/** The statements by their groups, made when first asked for. There are 37 sets of groups. */
const STATEMENTS = new Map<string, Omit<PreparedStatement<UpsertedCall>, 'values'>>();

function statement(groups: readonly ColumnGroup[]) {
  const name = `calls.upsert.${groups.map((group) => COLUMN_GROUPS.indexOf(group)).join('')}`;
  let known = STATEMENTS.get(name);
  if (!known) STATEMENTS.set(name, (known = prepared(name, upsert(groups))));
  return known;
}

type Side = Record<string, string | null | undefined> | undefined;

/** The groups of which a write has a value. Who looks for a trace names the parents too. */
function groupsOf(writes: readonly CallWrite[]): ColumnGroup[] {
  const isBrought = ({ side, texts, documents }: ColumnGroup) => {
    const names = [...texts, ...documents];
    return writes.some((write) => {
      const values = write[side] as Side;
      return values && names.some((name) => values[name] !== null && values[name] !== undefined);
    });
  };
  const [start, moreStart, newTrace, agent, source, events, end, moreEnd] =
    COLUMN_GROUPS.map(isBrought);
  const isIn = [start, moreStart || newTrace, newTrace, agent, source, events, end, moreEnd];
  return COLUMN_GROUPS.filter((_, i) => isIn[i]);
}

/**
 * Merges starts and ends of one project into `calls`, one statement for all of them, prepared once a connection; each column travels
 * as one array (the figures: docs/adr/0004-write-path.md). Each call is there at most once. What a start or an end
 * brings replaces what an earlier one brought, side by side and in any order; neither touches the other's columns. What is older by
 * its end replaces nothing. A `display_name` that a start leaves out stays, and so does one that `/call/update` has set:
 * `updateQuery`. Rows are locked in the order of
 * their key, so that concurrent statements wait for each other instead of deadlocking. Answers the traces of the calls
 * when a start leaves its own to be found.
 */
export function upsertQuery(writes: readonly CallWrite[]): PreparedStatement<UpsertedCall> {
  const groups = groupsOf(writes);
  const column = (side: ColumnGroup['side'], name: string) =>
    writes.map((write) => (write[side] as Side)?.[name]);
  return {
    ...statement(groups),
    values: [
      writes[0]!.projectId,
      textArray(writes.map(({ id }) => id)),
      textArray(writes.map(({ isOpaque }) => String(isOpaque))),
      ...groups.flatMap(({ side, texts }) => texts.map((name) => textArray(column(side, name)))),
      ...groups.flatMap(({ side, documents }) =>
        documents.map((name) => jsonArray(column(side, name))),
      ),
    ],
  };
}

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
import type { AgentColumns } from '../../conventions/agent-columns.js';
import { withLogged } from '../messages/call-messages.query.js';

/**
 * Columns of a start and of an end, in groups. Texts are sent as the text of the column's type. A group without values
 * in a batch is not sent, since PostgreSQL makes a table of each array.
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
/** Columns of agents' spans: docs/adr/0135-agents.md. */
const AGENT_TEXTS = ['operation', 'agent_name', 'agent_version', 'linked_call_id'] as const;
/** `CallSources` sets `source`; null is production. `own_source` is the source that the call states itself. */
const SOURCE_TEXTS = ['source', 'own_source'] as const;
/** Columns of calls that events change: docs/adr/0055-langfuse.md. */
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
/**
 * `new_trace` is the trace of a start that names none and whose parent is not stored. `markOrphans` sets `is_orphan`.
 */
type StartColumns = Partial<AgentColumns> &
  Partial<ColumnTexts<typeof SOURCE_TEXTS>> &
  Partial<ColumnTexts<typeof EVENT_DOCUMENTS>> &
  ColumnTexts<typeof START_TEXTS> &
  ColumnTexts<typeof MORE_START_TEXTS> &
  ColumnTexts<typeof NEW_TRACE> &
  ColumnTexts<typeof START_DOCUMENTS> &
  ColumnTexts<typeof MORE_START_DOCUMENTS>;
/** `end_started_at` and `end_trace_id` are used until the start is stored. */
type EndColumns = ColumnTexts<typeof END_TEXTS> &
  ColumnTexts<typeof MORE_END_TEXTS> &
  ColumnTexts<typeof END_DOCUMENTS>;

export interface CallWrite {
  projectId: string;
  id: string;
  start?: StartColumns;
  end?: EndColumns;
  /** True if a document contains an escape that PostgreSQL's json functions refuse: `hasOpaqueEscapes`. */
  isOpaque: boolean;
  /** Trace of the start: its own, or set when the write is committed. */
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
 * True if a body was sent again or came late. Its end is older than the stored end, or it has no end although one is
 * stored. Events have their own times, by which they were already merged.
 */
const IS_OLDER_END = sql`(c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))`;
/** True for a span that still ran when it was exported, if it is stored with its end. */
const IS_RUNNING_SPAN = sql`(excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)`;
/**
 * True if the start replaces the stored start. It does not if it came with an older end, or is an older state of a
 * span.
 */
const IS_START = sql`(excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT (${IS_OLDER_END} OR ${IS_RUNNING_SPAN})))`;
/** True if the end replaces the stored end. A call that still runs may already have an output or a usage. */
const IS_END = sql`((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT ${IS_OLDER_END})`;
/** True if `updateQuery` has set the name, perhaps in an earlier version of the service and before the start. */
const IS_RENAMED = sql`(c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL))`;

const list = (names: readonly string[]) => join(names.map(identifier));

const replacedWhen = (isBrought: Sql, ...columns: string[]) =>
  join(
    columns.map((name) => {
      const column = identifier(name);
      return sql`${column} = CASE WHEN ${isBrought} THEN excluded.${column} ELSE c.${column} END`;
    }),
  );

/** Column that an end may set too. The value of the start wins. */
const startsValue = (name: string) => {
  const column = identifier(name);
  return sql`CASE WHEN ${IS_START} THEN coalesce(excluded.${column}, c.${column}) ELSE coalesce(c.${column}, excluded.${column}) END`;
};

/** Columns of a start or an end to which log records may add: docs/adr/0059-messages-in-logs.md. */
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

/** Returns the statement for these groups. `upsertQuery` lists the values in the order of the parameters. */
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

/** Statements, keyed by their groups and made at first use. There are 37 sets of groups. */
const STATEMENTS = new Map<string, Omit<PreparedStatement<UpsertedCall>, 'values'>>();

function statement(groups: readonly ColumnGroup[]) {
  const name = `calls.upsert.${groups.map((group) => COLUMN_GROUPS.indexOf(group)).join('')}`;
  let known = STATEMENTS.get(name);
  if (!known) STATEMENTS.set(name, (known = prepared(name, upsert(groups))));
  return known;
}

type Side = Record<string, string | null | undefined> | undefined;

/** Returns the groups in which some write has a value. A statement that looks for traces also needs the parents. */
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
 * Merges starts and ends of one project into `calls`. All writes share one statement, which is prepared once for each
 * connection. Each column is sent as one array (figures: docs/adr/0004-write-path.md). `writes` must hold each call at
 * most once.
 *
 * A start replaces an earlier start, and an end replaces an earlier end, in any order. Neither touches the columns of
 * the other. A write with an older end replaces nothing. A `display_name` that a start omits stays, and so does one
 * that `/call/update` has set: `updateQuery`.
 *
 * Rows are locked in the order of their keys, so concurrent statements wait instead of deadlocking. If a start leaves
 * its trace to be found, the statement returns the traces of the calls.
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

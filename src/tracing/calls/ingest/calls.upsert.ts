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
import { CALL_COLUMN_LIST, type CallColumnWith } from '../call.entity.js';
import { withLogged } from '../messages/call-messages.query.js';

export type ColumnTexts<Name extends string = string> = Record<Name, string | null | undefined>;

/**
 * Values as the text of the column's type. `new_trace` is the trace of a start that names none and whose parent is not
 * stored. `markOrphans` sets `is_orphan`. `CallSources` sets `source`; null is production.
 */
type StartColumns = ColumnTexts<CallColumnWith<{ from: 'start' }> | 'new_trace'>;
/** `end_started_at` and `end_trace_id` are used until the start is stored. */
type EndColumns = ColumnTexts<CallColumnWith<{ from: 'end' }> | 'end_started_at' | 'end_trace_id'>;

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

/**
 * Columns of a start or an end that are sent together. A group without values in a batch is not sent, because
 * PostgreSQL makes a table of each array.
 */
interface ColumnGroup {
  side: 'start' | 'end';
  texts: readonly string[];
  documents: readonly string[];
}

const SENT = CALL_COLUMN_LIST.filter(({ from }) => from);

function columnGroup(side: ColumnGroup['side'], wanted?: string, ...more: string[]): ColumnGroup {
  const columns = SENT.filter(({ from, group }) => from === side && group === wanted);
  const names = (isDocument: boolean) =>
    columns.filter(({ type }) => (type === 'json') === isDocument).map(({ name }) => name);
  return { side, texts: [...names(false), ...more], documents: names(true) };
}

const NEW_TRACE: ColumnGroup = { side: 'start', texts: ['new_trace'], documents: [] };
const COLUMN_GROUPS: readonly ColumnGroup[] = [
  columnGroup('start', 'usual'),
  columnGroup('start'),
  NEW_TRACE,
  columnGroup('start', 'agent'),
  columnGroup('start', 'source'),
  columnGroup('start', 'event'),
  columnGroup('end', 'usual'),
  columnGroup('end', undefined, 'end_started_at', 'end_trace_id'),
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

const brought = (isBrought: Sql, column: Sql, stored = column) =>
  sql`CASE WHEN ${isBrought} THEN excluded.${column} ELSE c.${stored} END`;

/** Column that an end may set too. The value of the start wins. */
const startsValue = (name: string) => {
  const column = identifier(name);
  return sql`CASE WHEN ${IS_START} THEN coalesce(excluded.${column}, c.${column}) ELSE coalesce(c.${column}, excluded.${column}) END`;
};

/** Columns of a start or an end to which log records may add: docs/adr/0059-messages-in-logs.md. */
const loggedValues = (isBrought: Sql, side: 'inputs' | 'output') => {
  const column = identifier(side);
  const own = brought(isBrought, column, identifier(`own_${side}`));
  return {
    [`own_${side}`]: sql`CASE WHEN c.logged IS NOT NULL THEN ${own} END`,
    [side]: sql`CASE WHEN c.logged IS NOT NULL THEN ${withLogged(own, sql`c.logged`, startsValue('trace_id'), side)}
      ELSE ${brought(isBrought, column)} END`,
  };
};

/** Casts from text to the type of a column. */
const CASTS: Record<string, (column: Sql) => Sql> = {
  int: (column) => sql`${column}::int`,
  timestamptz: (column) => sql`${column}::timestamptz`,
  boolean: (column) => sql`coalesce(${column}::boolean, false)`,
};

/** Values of a new row. */
const INSERTED = {
  ...Object.fromEntries(
    SENT.map(({ name, type }) => [name, CASTS[type]?.(identifier(name)) ?? identifier(name)]),
  ),
  started_at: sql`coalesce(started_at, end_started_at)::timestamptz`,
  trace_id: sql`CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END`,
  source: sql`coalesce(source, 'production')`,
};

/** Values of a stored row, by column. A start replaces the columns of a start, and an end those of an end. */
const UPDATED = {
  ...Object.fromEntries(
    SENT.map(({ name, from }) => [
      name,
      brought(from === 'start' ? IS_START : IS_END, identifier(name)),
    ]),
  ),
  display_name: sql`CASE WHEN NOT ${IS_START} THEN c.display_name WHEN ${IS_RENAMED} THEN nullif(c.display_name, '')
      ELSE coalesce(excluded.display_name, c.display_name) END`,
  started_at: startsValue('started_at'),
  trace_id: startsValue('trace_id'),
  ...loggedValues(IS_START, 'inputs'),
  ...loggedValues(IS_END, 'output'),
  is_opaque: sql`c.is_opaque OR excluded.is_opaque`,
};

const UPDATES = join(
  Object.entries(UPDATED).map(([name, value]) => sql`${identifier(name)} = ${value}`),
);

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
  const isAnswering = groups.includes(NEW_TRACE);
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
  INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, ${list(Object.keys(INSERTED))})
  SELECT ${project}::text, id, is_opaque::boolean, false, ${join(Object.values(INSERTED))}
  FROM (SELECT ${join([sql`w.*`, ...others])} FROM unnest(${join(columns)}) AS w (${list(names)})) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET ${UPDATES}
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

/** Returns the groups in which some write has a value. A statement that looks for traces also needs the parents. */
function groupsOf(writes: readonly CallWrite[]): ColumnGroup[] {
  const isBrought = ({ side, texts, documents }: ColumnGroup) => {
    const names = [...texts, ...documents];
    return writes.some((write) => {
      const values = write[side] as ColumnTexts | undefined;
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
    writes.map((write) => (write[side] as ColumnTexts | undefined)?.[name]);
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

import { MAX_AUDITED } from '../../../platform/audit/add-event.js';
import {
  inBothSpellings,
  isOtherSpelling,
  ALL_WIRE,
  otherDialect,
  perDialect,
  wire,
} from '../../../platform/http/wire-names.js';
import { costsOfCall } from '../../pricing/price.js';
import { pricesOfCall } from '../../pricing/prices.query.js';
import { ownUsage, usageRows } from '../../usage/own-usage.query.js';
import type { RowPiece } from '../../../platform/database/json-row-writer.js';
import {
  column,
  type Columns,
  InvalidQuery,
  type JsonColumn,
  nameBudget,
  type Operand,
  resolve,
  unknownField,
  mostBytes,
  wireTime,
} from '../../../platform/query/columns.js';
import { textArray } from '../../../platform/query/binary-array.js';
import { compile } from '../../../platform/query/expression.js';
import {
  allOf,
  anyOf,
  identifier,
  isListed,
  isOneOf,
  join,
  sql,
  type Sql,
} from '../../../platform/query/sql.js';
import { CALL_COLUMN_LIST } from '../call.entity.js';
import { isRoot, isTopOrphan, LATENCY_MS, visibleIn } from '../../visible-calls.js';
import type {
  CallReadDto,
  CallsDeletedDto,
  CallsFilterDto,
  CallsQueryDto,
  CallsStatsDto,
} from '../calls.dto.js';
import { queueField } from './annotation-field.js';
import { totalCosts, totalsOfTraces, traceTotal } from './trace-totals.js';
import { withExpandedColumns } from './expanded-columns.js';
import { callRelations, type KnownRelations } from './call-relations.js';
import { costField, type BuiltinPrices, totalCostField } from './cost-field.js';
import { endUser } from './end-user.js';
import { feedbackField, feedbackOfCall } from './feedback-field.js';
import { computedOnce, lookedUp, unseen } from '../../../platform/query/plans.js';

export const STATUS = sql`CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END`;
/** The statuses as separate conditions. The indexes of failed and of running calls serve the first three. */
const STATUSES = new Map([
  ['error', sql`(c.exception IS NOT NULL)`],
  ['running', sql`(c.ended_at IS NULL AND c.exception IS NULL)`],
  [
    'descendant_error',
    sql`(c.has_descendant_error AND c.ended_at IS NOT NULL AND c.exception IS NULL)`,
  ],
  ['success', sql`(c.ended_at IS NOT NULL AND NOT c.has_descendant_error AND c.exception IS NULL)`],
]);

/** Returns the n-th part of an op's ref: `<scheme>:`, empty, empty, entity, project, `op`, `<name>:<digest>`. */
const refPart = (n: number) => sql`split_part(c.op_name, '/', ${n}::int)`;

/**
 * The display name, else the name in the op's ref, else the op as it was sent. docs/adr/0014-reads-as-bytes.md explains
 * why it is no regular expression.
 */
const TRACE_NAME = sql`coalesce(c.display_name,
  CASE WHEN ${anyOf(ALL_WIRE.map(({ scheme }) => sql`starts_with(c.op_name, ${`${scheme}:///`}::text)`))} AND ${refPart(4)} <> '' AND ${refPart(5)} <> ''
    AND ${refPart(6)} = 'op' AND strpos(${refPart(7)}, ':') > 1 THEN split_part(${refPart(7)}, ':', 1) END,
  c.op_name)`;

type SummaryExtras = Pick<
  CallsQueryDto,
  'project_id' | 'include_costs' | 'include_feedback' | 'include_trace_totals'
>;

interface DerivedMember {
  piece: RowPiece;
  values: readonly Sql[];
}

const derivedMembers = ({ project_id, ...asked }: SummaryExtras): DerivedMember[] => [
  { piece: { name: 'status', kind: 'text' }, values: [STATUS] },
  { piece: { name: 'latency_ms', kind: 'json' }, values: [LATENCY_MS] },
  { piece: { name: 'trace_name', kind: 'text' }, values: [TRACE_NAME] },
  ...(asked.include_costs ? [costsColumn(project_id)] : []),
  ...(asked.include_trace_totals ? totalsColumns(project_id) : []),
  ...(asked.include_feedback
    ? [{ piece: { name: 'feedback', kind: 'json' as const }, values: [feedbackOfCall(project_id)] }]
    : []),
];

const totalsColumns = (projectId: string): DerivedMember[] => [
  {
    piece: { name: 'trace_costs', kind: 'computed', values: 4, by: costsOfCall },
    values: totalCosts(projectId),
  },
  { piece: { name: 'trace_user', kind: 'text' }, values: [sql`total.user_name`] },
];

const costsColumn = (projectId: string): DerivedMember => ({
  piece: { name: 'costs', kind: 'computed', values: 4, by: costsOfCall },
  values: [
    pricesOfCall(projectId),
    wireTime(sql`c.started_at`),
    sql`${ownUsage}::text`,
    sql`c.counts_gross::text`,
  ],
});

/** Sum of tokens over all models of a call. NULL if the call reports no usage. */
const tokens = (kind: Sql) => column.number(sql`(SELECT sum(u.${kind}) FROM ${usageRows()} u)`);

const RETURNED = CALL_COLUMN_LIST.filter(({ returned }) => returned);
/** Columns that bodies of starts and ends have. */
const SENT = CALL_COLUMN_LIST.filter(({ from, isComputed }) => from && !isComputed);

type CallColumn = (typeof CALL_COLUMN_LIST)[number];
const fieldName = ({ name, wire: key }: CallColumn): string => (key ? wire()[key] : name);

/** Constructors of the field that a column of each type becomes. */
const FIELDS = {
  text: column.text,
  timestamptz: column.time,
  int: (value: Sql) => column.number(value, { isInteger: true }),
  boolean: column.bool,
  json: (value: Sql) => column.json(value, sql`c.is_opaque`),
  jsonb: (value: Sql) => column.json(value, sql`c.is_opaque`),
};

const fields = perDialect((): Columns => ({
  ...Object.fromEntries(
    RETURNED.map((one) => [
      fieldName(one),
      FIELDS[one.type](sql`c.${identifier(one.name)}`, {
        isNotNull: one.returned === 'always' || one.default !== undefined,
      }),
    ]),
  ),
  turn_id: column.text(sql`(c.turn_id || '')`),
  exception: column.text(sql`c.exception`, {
    within: (bytes) => sql`skein_within(c.exception, ${bytes}::int)`,
  }),
  [`summary.${wire().summary}.status`]: column.text(sql`(${STATUS})`, {
    isNotNull: true,
    cases: STATUSES,
  }),
  [`summary.${wire().summary}.latency_ms`]: column.number(LATENCY_MS),
  [`summary.${wire().summary}.trace_name`]: column.text(TRACE_NAME, { isNotNull: true }),
  [`summary.${wire().summary}.input_tokens`]: tokens(sql`input_tokens`),
  [`summary.${wire().summary}.output_tokens`]: tokens(sql`completion_tokens`),
  [`summary.${wire().summary}.total_tokens`]: tokens(sql`input_tokens + u.completion_tokens`),
}));

const DOCUMENTS = SENT.flatMap(({ name, type }) =>
  type === 'json' ? [sql`c.${identifier(name)}`] : [],
);

/** The stored size of the documents of the call `c`. It is found without reading the documents. */
export const DOCUMENT_BYTES = join(
  DOCUMENTS.map((document) => sql`coalesce(pg_column_size(${document}), 0)`),
  ' + ',
);

/** Upper bound for the bytes of the documents of the call `c` without compression. */
const MOST_BYTES = sql`(${join(DOCUMENTS.map(mostBytes), ' + ')})`;

/**
 * Columns that are returned on request: the bytes of the call, the bytes of all calls of the trace at its root, and the
 * name of the user, which is the id.
 */
const extraColumns = (projectId: string): Columns => ({
  [wire().username]: column.text(sql`c.user_id`),
  storage_size_bytes: column.number(sql`(${DOCUMENT_BYTES})`),
  total_storage_size_bytes: column.number(sql`(CASE WHEN r.is_root THEN (
    SELECT sum(${DOCUMENT_BYTES})::bigint FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = r.trace_id) END)`),
});

type ExtraColumnFlags = Pick<
  CallsQueryDto,
  'include_storage_size' | 'include_total_storage_size' | 'include_usernames'
>;

const extraColumnNames = (asked: ExtraColumnFlags): string[] => [
  ...(asked.include_usernames ? [wire().username] : []),
  ...(asked.include_storage_size ? ['storage_size_bytes'] : []),
  ...(asked.include_total_storage_size ? ['total_storage_size_bytes'] : []),
];

/** Returns the fields that `query` and `sort_by` may name. The cost of a call needs `prices`. */
export const queryableColumns = (
  projectId: string,
  expanded?: readonly string[] | null,
  prices?: BuiltinPrices,
): Columns =>
  inBothSpellings(
    withExpandedColumns(
      {
        ...fields(),
        [totalCostField()]: costField(projectId, prices),
        [`summary.${wire().summary}.end_user`]: column.text(endUser(projectId)),
        'annotation_queue_items.queue_id': queueField(projectId),
        feedback: feedbackField(projectId),
      },
      projectId,
      expanded,
    ),
  );

const OTEL_SPAN = 'otel_span';

const columnNames = perDialect(() => RETURNED.map(fieldName));
const answeredNames = perDialect(() =>
  RETURNED.filter(({ returned }) => returned !== 'if named').map(fieldName),
);
const ALWAYS: string[] = RETURNED.flatMap(({ name, returned }) =>
  returned === 'always' ? [name] : [],
);

/**
 * Returns the names of the columns to return. A path such as `inputs.model` requests the column with which it begins.
 * Costs, feedback and totals request the summary that holds them.
 */
export function selectedColumns(request: CallsQueryDto): string[] {
  const { columns, include_costs, include_feedback, include_trace_totals } = request;
  const names = columnNames();
  const more = extraColumnNames(request);
  if (!columns || columns.length === 0) return [...answeredNames(), ...more];
  const roots = columns.map((name, i) => {
    const root = name.split('.', 1)[0]!;
    if (isOtherSpelling(root)) throw new InvalidQuery(`columns[${i}]`, otherDialect('asks'));
    if (!names.includes(root)) throw unknownField(root, `columns[${i}]`);
    return root;
  });
  if (include_costs || include_feedback || include_trace_totals) roots.push('summary');
  return [...names.filter((name) => ALWAYS.includes(name) || roots.includes(name)), ...more];
}

/**
 * Returns a query with one row for each call, and how `JsonRowWriter` puts the values together. Stored JSON is returned
 * as the text that was sent.
 */
export function toCallRows(calls: Sql, extras: SummaryExtras, names: readonly string[]): CallRows {
  const values: Sql[] = [];
  const columns = { ...fields(), ...extraColumns(extras.project_id) };
  const pieces = names.map((name): RowPiece => {
    if (name === 'summary') {
      const more = derivedMembers(extras);
      const by = more.map(({ piece }) => piece);
      values.push(sql`c.summary`, ...more.flatMap((one) => one.values));
      return { name, kind: 'extended', member: wire().summary, by };
    }
    if (name === 'attributes') {
      values.push(sql`c.attributes`, sql`c.otel_dump`);
      return { name, kind: 'extended', member: OTEL_SPAN, by: 'json' };
    }
    const { type, sql: value } = columns[name] as Operand | JsonColumn;
    values.push(type === 'bool' ? sql`${value}::text` : value);
    return { name, kind: type === 'text' || type === 'time' ? type : 'json' };
  });
  const roots = sql`LATERAL (SELECT c.trace_id, ${isRoot(extras.project_id)} AS is_root) r`;
  if (!extras.include_trace_totals)
    return { query: sql`SELECT ${join(values)} FROM (${calls}) c, ${roots}`, pieces };
  const query = sql`
    WITH listed AS MATERIALIZED (${calls}), totals AS MATERIALIZED (${totalsOfTraces(extras.project_id)})
    SELECT ${join(values)} FROM listed c, ${roots}, ${traceTotal(extras.project_id)}`;
  return { query, pieces };
}

export interface CallRows {
  query: Sql;
  pieces: RowPiece[];
}

const matching = (request: CallsStatsDto, ahead?: ReadAhead) =>
  allOf(visibleIn(request.project_id), isMatch(request, ahead));

/**
 * Returns SQL for the value of a field of the call `c`, as text.
 * @throws InvalidQuery
 */
export const fieldText = (projectId: string, name: string, path: string) =>
  sql`${resolve(queryableColumns(projectId), name, path, nameBudget()).sql}::text`;

/**
 * Returns the condition of a filter and a query on the call `c`. It also matches deleted calls and calls without a
 * start.
 */
export const isMatch = (
  { project_id, filter, query, expand_columns }: CallSelection,
  { prices, relations, candidates }: ReadAhead = {},
): Sql =>
  allOf(
    candidates && sql`c.id = ANY(ARRAY(SELECT unnest(${textArray(candidates)}::text[])))`,
    filter && isFiltered(filter, project_id),
    query &&
      compile(
        query,
        queryableColumns(project_id, expand_columns, prices),
        callRelations(project_id, relations),
      ),
  );

/** Calls that may say the texts of a query. All others do not say them. */
export interface TextCandidates {
  ids: string[];
  /** The search looked at calls up to this millisecond. Null if it looked at all. */
  until: number | null;
}

/** Rows that were read before a statement is compiled. Only a request with them may name costs and other calls. */
export interface ReadAhead {
  prices?: BuiltinPrices;
  relations?: KnownRelations;
  /** Ids of calls. No other call says what the query looks for. */
  candidates?: readonly string[] | undefined;
  /** The first step of the search for texts, in the order of the request. */
  texts?: TextCandidates;
}

export type CallSelection = Pick<
  CallsStatsDto,
  'project_id' | 'filter' | 'query' | 'expand_columns'
>;

/** Selects a call by its id. With `maxBytes`, only if its documents surely hold no more bytes than that. */
export function callRow(request: CallReadDto, maxBytes: number | null): CallRows {
  const { project_id, id } = request;
  const isSmall = maxBytes !== null && sql`${MOST_BYTES} <= ${maxBytes}::bigint`;
  const found = sql`SELECT c.* FROM calls c WHERE ${allOf(visibleIn(project_id), sql`c.id = ${id}`, isSmall)}`;
  return toCallRows(found, request, [...answeredNames(), ...extraColumnNames(request)]);
}

export const callsStatsQuery = (request: CallsStatsDto, ahead?: ReadAhead) => sql<{
  count: number;
}>`
  SELECT count(*)::int AS count FROM (
    SELECT 1 FROM calls c WHERE ${matching(request, ahead)}
    LIMIT ${typeof request.limit === 'number' ? request.limit + 1 : null}::bigint) t`;

/** Matches like `isOneOf`, but an empty list matches nothing. */
const isOneOfAny = (value: Sql, list: readonly string[] | null | undefined) =>
  list && sql`${value} = ANY(${list}::text[])`;

function isFiltered(filter: CallsFilterDto, projectId: string): Sql {
  return allOf(
    hasOpName(filter.op_names),
    holdsRef(sql`c.inputs`, filter.input_refs),
    holdsRef(sql`c.output`, filter.output_refs),
    isOneOf(sql`c.parent_id`, filter.parent_ids),
    isOneOf(sql`c.trace_id`, filter.trace_ids),
    isOneOf(sql`c.id`, filter.call_ids),
    isOneOfAny(sql`(c.thread_id || '')`, filter.thread_ids), // these two are spelled as in their indexes
    isOneOfAny(sql`(c.turn_id || '')`, filter.turn_ids),
    filter.trace_roots_only && isRoot(projectId),
    filter.orphans_only && isTopOrphan(projectId),
    isOneOf(sql`c.source`, filter.sources),
    isOneOf(sql`c.user_id`, filter.svc_user_ids),
    isOneOf(sql`c.run_id`, filter.svc_run_ids),
  );
}

/** Returns the smallest text after all texts that begin with `prefix`, which must end with a colon. */
const behindAll = (prefix: string) => `${prefix.slice(0, -1)};`;

function hasOpName(names: readonly string[] | null | undefined): Sql | null {
  if (!names?.length) return null;
  const exact = names.filter((name) => !name.endsWith(':*'));
  const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1));
  return anyOf([
    sql`c.op_name = ANY(${exact}::text[])`,
    ...prefixes.map((prefix) => sql`(c.op_name >= ${prefix} AND c.op_name < ${behindAll(prefix)})`),
  ]);
}

/**
 * Matches documents that contain one of the refs as a whole JSON string, at any depth, also with escaped slashes. The
 * text of the document is made once for all refs. The statement can be stopped between two refs.
 */
const holdsRef = (document: Sql, refs: readonly string[] | null | undefined) =>
  refs?.length
    ? sql`EXISTS (SELECT FROM ${computedOnce(sql`SELECT replace(${document}::text, ${String.raw`\/`}, '/') AS text`, 'd')}
        CROSS JOIN LATERAL (SELECT FROM unnest(${refs.map((ref) => JSON.stringify(ref))}::text[]) r (ref)
          WHERE strpos(d.text, r.ref) > 0 LIMIT 1) found)`
    : null;

export const tracesQuery = (projectId: string, ids: readonly string[]) => sql<{
  id: string;
  trace_id: string;
}>`
  SELECT c.id, c.trace_id FROM unnest(${ids}::text[]) t (id) ${lookedUp(
    sql`SELECT id, trace_id FROM calls WHERE project_id = ${projectId} AND id = t.id AND trace_id IS NOT NULL`,
    'c',
  )}`;

/**
 * Sets the display name of a call. If its start arrives later, the name of the start is ignored. A name that is removed
 * before the start is stored as an empty text until then.
 */
export const updateQuery = (projectId: string, id: string, displayName: string | null) => sql`
  INSERT INTO calls AS c (project_id, id, display_name, has_unread_usage, is_renamed)
  VALUES (${projectId}, ${id}, ${displayName ?? ''}, false, true)
  ON CONFLICT (project_id, id) DO UPDATE SET is_renamed = true,
    display_name = CASE WHEN c.op_name IS NULL THEN excluded.display_name ELSE nullif(excluded.display_name, '') END`;

/**
 * Returns the recursive part of a statement: the calls and their descendants in the same trace, as `family`. Children
 * are looked up one call at a time, by the index of parents. Otherwise the planner may use the index of traces, or hash
 * the whole project, once for each level.
 */
export const withDescendants = (ids: readonly string[], isCounted: Sql) => sql`
  RECURSIVE family AS (
    SELECT c.id, c.trace_id FROM calls c WHERE ${isCounted} AND ${isListed(sql`c.id`, ids)}
    UNION
    SELECT child.id, child.trace_id FROM family f ${lookedUp(
      sql`SELECT c.id, c.trace_id FROM calls c
      WHERE ${isCounted} AND c.parent_id = f.id AND ${unseen(sql`c.trace_id = f.trace_id`)}`,
      'child',
    )}
  )`;

/** Matches visible calls `c` that are listed, and their descendants in the same trace. */
export const isVisibleFamily = (projectId: string, ids: readonly string[]) =>
  sql`c.id IN (WITH ${withDescendants(ids, visibleIn(projectId))} SELECT id FROM family)`;

/**
 * Marks calls and their descendants in the same trace as deleted, and returns as `made` what `whatIsMade` selects for
 * them. Locks the calls in the order in which every other write locks them.
 */
export const deleteQuery = (
  projectId: string,
  ids: readonly string[],
  whatIsMade: (calls: Sql) => Sql,
) => sql<CallsDeletedDto & { named: string[]; made: string[][] }>`
  WITH ${withDescendants(ids, visibleIn(projectId))}, locked AS (
    SELECT id FROM calls WHERE project_id = ${projectId} AND id = ANY(ARRAY(SELECT id FROM family)) ORDER BY id FOR UPDATE
  ), deleted AS (
    UPDATE calls SET deleted_at = now()
    WHERE project_id = ${projectId} AND id = ANY(ARRAY(SELECT id FROM locked)) AND deleted_at IS NULL RETURNING id
  )
  SELECT (SELECT count(*)::int FROM deleted) AS num_deleted,
    ARRAY(SELECT id FROM deleted WHERE id = ANY(${ids}::text[]) ORDER BY id LIMIT ${MAX_AUDITED}::bigint) AS named,
    ${whatIsMade(sql`SELECT id FROM deleted`)} AS made`;

/** Values of bodies that are stored, in the form of the bodies. */
const SENT_VALUES = SENT.map(({ name, type, wire: key }) => {
  const value = sql`c.${identifier(name)}`;
  const read =
    type === 'json' ? sql`${value}::text` : type === 'timestamptz' ? wireTime(value) : value;
  return sql`${read} AS ${identifier(key ? ALL_WIRE[0][key] : name)}`;
});

export const storedQuery = (
  projectId: string,
  ids: readonly string[],
): Sql<{ id: string } & Record<string, string | null | undefined>> => sql`
  SELECT c.id, ${join(SENT_VALUES)}, c.event_times::text
  FROM calls c WHERE c.project_id = ${projectId} AND ${isOneOf(sql`c.id`, ids)} AND c.op_name IS NOT NULL`;

export const mostBytesQuery = (projectId: string, ids: readonly string[]) => sql<{
  id: string;
  bytes: number;
}>`
  SELECT c.id, (${MOST_BYTES} + ${mostBytes(sql`c.event_times`)})::float8 AS bytes
  FROM calls c WHERE c.project_id = ${projectId} AND ${isOneOf(sql`c.id`, ids)} AND c.op_name IS NOT NULL`;

/** Maximum number of calls of a trace that are checked for its root, in the order of their starts. */
const MAX_TOPS = 50;

export const responseQuery = (projectId: string, responseId: string) => sql<{ id: string }>`
  SELECT c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.response_id = ${responseId}
  ORDER BY c.started_at, c.id LIMIT 1`;

/**
 * Selects the first root of a trace. `is_below` is true for an observation made from events. The root of its trace may
 * not be stored yet.
 */
export const rootQuery = (projectId: string, traceId: string) => sql<{
  id: string;
  is_below: boolean;
}>`
  SELECT c.id, num_nonnulls(c.parent_id, c.event_times) = 2 AS is_below FROM ${computedOnce(
    sql`SELECT c.* FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = ${traceId} AND (c.parent_id IS NULL OR c.is_orphan)
      ORDER BY c.started_at, c.id LIMIT ${MAX_TOPS}::bigint`,
    'c',
  )} WHERE ${isRoot(projectId)} ORDER BY c.started_at, c.id LIMIT 1`;

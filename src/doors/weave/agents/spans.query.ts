// SQL: spans are calls, which are listed, counted and summed up.
import { lookedUp, nearOrAll, pageLimit, unseen } from '../../../platform/query/plans.js';
import { pricesOfCall } from '../../../tracing/pricing/prices.query.js';
import { ownUsage, usageRows } from '../../../tracing/usage/own-usage.query.js';
import {
  jsonAt,
  column,
  orderBy,
  page,
  type Sort,
  wireTime,
} from '../../../platform/query/columns.js';
import { allOf, identifier, isOneOf, join, sql, type Sql } from '../../../platform/query/sql.js';
import type { StartedCall } from '../../../tracing/calls/call.entity.js';
import { columnsOfCall, LATENCY_MS, visibleIn } from '../../../tracing/visible-calls.js';
import { KNOWN_ATTRIBUTES } from './span-fields.js';
import { SpanSource, type SpanSelection } from './span-source.js';

const SPAN_COLUMNS = [
  'id',
  'trace_id',
  'parent_id',
  'op_name',
  'exception',
  'operation',
  'agent_name',
  'agent_version',
  'linked_call_id',
  'thread_id',
  'user_id',
  'run_id',
  'run_step',
  'run_step_end',
  'attributes',
  'counts_gross',
] as const;

/** A call with the values from which the fields of its span are computed. */
export interface SpanSourceCall extends Pick<
  StartedCall,
  (typeof SPAN_COLUMNS)[number] | 'started_at' | 'ended_at'
> {
  duration_ms: number | null;
  attributes: Record<string, unknown>;
  kind: string | null;
  status: string | null;
  usage: object | null;
  /** Only with costs. */
  records: object | null;
  /** Only with details. */
  inputs: unknown;
  output: unknown;
  raw: string | null;
}

/** Selects values that are read in addition to columns and attributes. */
export interface SpanDetails {
  project_id: string;
  hasDocuments?: boolean;
  hasRaw?: boolean;
  hasCosts?: boolean;
}

const DUMP = column.json(sql`c.otel_dump`, sql`c.is_opaque`);

function spanColumns({ project_id, hasDocuments, hasRaw, hasCosts }: SpanDetails): Sql {
  const documents = hasDocuments ? sql`c.inputs, c.output` : sql`NULL AS inputs, NULL AS output`;
  return sql`${columnsOfCall(SPAN_COLUMNS)}, ${wireTime(sql`c.started_at`)} AS started_at,
    ${wireTime(sql`c.ended_at`)} AS ended_at, ${LATENCY_MS} AS duration_ms,
    ${jsonAt(DUMP, ['kind']).sql} AS kind, ${jsonAt(DUMP, ['status', 'code']).sql} AS status, ${ownUsage} AS usage,
    ${hasCosts ? pricesOfCall(project_id) : sql`NULL`} AS records, ${documents}, ${hasRaw ? sql`c.otel_dump::text` : sql`NULL`} AS raw`;
}

export interface SpansPageRequest extends SpanSelection {
  sort_by?: readonly Sort[] | null;
  limit?: number | null;
  offset?: number | null;
}

const NEWEST: readonly Sort[] = [{ field: 'started_at', direction: 'desc' }];

/** Newest spans that a page with a filter searches first. Frequent matches fill the page from these. */
const NEAR = 2000;

export function spansQuery(asked: SpansPageRequest, details: SpanDetails, more: Sql | null): Sql {
  const sorts = asked.sort_by?.length ? asked.sort_by : NEWEST;
  const found = (source: SpanSource, rows: Sql) => {
    const where = source.matching(asked, more);
    return sql`SELECT c.* FROM ${source.from} WHERE ${where} ${orderBy(source.columns, sorts, 'span_id')} ${rows}`;
  };
  const shown = (calls: Sql) =>
    sql`SELECT row_to_json(t)::text FROM (SELECT ${spanColumns(details)} FROM (${calls}) c) t`;
  const last = (asked.limit ?? Infinity) + (asked.offset ?? 0);
  const isByStart = sorts.length === 1 && sorts[0]!.field === 'started_at';
  if (!(asked.query || more) || !isByStart || last > NEAR)
    return shown(found(new SpanSource(), page(asked)));
  const { project_id, started_after, started_before } = asked;
  const all = new SpanSource();
  const where = all.matching({ project_id, started_after, started_before });
  const next = sql`(SELECT c.* FROM calls c WHERE ${where} ${orderBy(all.columns, sorts, 'span_id')} ${pageLimit(NEAR)}) c`;
  const upTo = pageLimit(last);
  const calls = nearOrAll(found(new SpanSource(next), upTo), found(new SpanSource(), upTo), last);
  return shown(sql`${calls} ${orderBy(all.columns, sorts, 'span_id')} ${page(asked)}`);
}

export function spansCount(asked: SpanSelection, more: Sql | null): Sql<{ total_count: number }> {
  const source = new SpanSource();
  const where = source.matching(asked, more);
  return sql`SELECT count(*)::int AS total_count FROM ${source.from} WHERE ${where}`;
}

/** Bytes of an attribute's name. Longer names are not listed, since no request can contain them. */
const MAX_KEY_BYTES = 1000;

/** Reads the names and types of custom attributes on the spans. */
export function customAttributes(
  asked: SpanSelection & { limit: number; offset: number },
): Sql<{ key: string; value_type: 'string' | 'int' | 'float' | 'bool'; span_count: number }> {
  const source = new SpanSource();
  const where = source.matching(asked);
  return sql`
    SELECT t.key, t.value_type, count(*)::int AS span_count FROM (
      SELECT e.key, CASE WHEN json_typeof(e.value) = 'boolean' THEN 'bool' WHEN json_typeof(e.value) <> 'number' THEN 'string'
        WHEN e.value::text ~ '^-?[0-9]+$' THEN 'int' ELSE 'float' END AS value_type
      FROM ${source.from}
        CROSS JOIN LATERAL json_each(CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) e
      WHERE ${where} AND e.key <> ALL(${KNOWN_ATTRIBUTES}::text[]) AND json_typeof(e.value) <> 'null'
        AND octet_length(e.key) <= ${MAX_KEY_BYTES}::int) t
    GROUP BY 1, 2 ORDER BY t.key COLLATE "C", t.value_type LIMIT ${asked.limit + 1}::bigint OFFSET ${asked.offset}::bigint`;
}

/** Reads all calls of a trace, including calls that are no spans of agents. */
export const traceCalls = (details: SpanDetails, traceId: string, limit: number) => sql`
  SELECT row_to_json(t)::text FROM (
    SELECT ${spanColumns(details)} FROM (
      SELECT c.* FROM calls c WHERE ${visibleIn(details.project_id)} AND c.trace_id = ${traceId}
      ORDER BY c.started_at, c.id LIMIT ${limit}::bigint) c ORDER BY c.started_at, c.id) t`;

/** Counts the calls of a trace, and the bytes of their documents. */
export const traceSize = (projectId: string, traceId: string) => sql<{
  calls: number;
  bytes: number;
}>`
  SELECT count(*)::int AS calls, coalesce(sum(octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0)
    + octet_length(c.attributes::text)), 0)::float8 AS bytes
  FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = ${traceId}`;

/** Matches spans of a conversation, by the expression of the index on threads. */
const isOfConversation = (id: string) =>
  sql`(c.thread_id || '') = ${id} AND c.thread_id <> '' AND c.operation IS NOT NULL`;

/** Reads the traces of a conversation, the newest first. */
export const turnsQuery = (
  projectId: string,
  id: string,
  { limit, offset }: { limit: number; offset: number },
) => sql<{ turn: string; total: number }>`
  SELECT c.trace_id AS turn, count(*) OVER ()::int AS total FROM calls c
  WHERE ${visibleIn(projectId)} AND ${isOfConversation(id)}
  GROUP BY c.trace_id ORDER BY min(c.started_at) DESC, turn LIMIT ${limit}::bigint OFFSET ${offset}::bigint`;

export interface ConversationSpan {
  /** The position of its conversation in the list, from 1. */
  place: number;
  span_id: string;
  trace_id: string;
  operation_name: string;
  status: string;
  duration_ms: number;
}

/**
 * Reads the spans of conversations for their overviews, ordered by start. Ids are bound as JSON: as an array, many ids
 * with quotes take the driver half a second.
 */
export function conversationSpans(
  wanted: SpanSelection,
  ids: readonly string[],
  limit: number,
): Sql<ConversationSpan> {
  const source = new SpanSource();
  const where = source.matching(wanted, sql`(c.thread_id || '') = t.id AND c.thread_id <> ''`);
  return sql`
    SELECT t.place, s.id AS span_id, s.trace_id, s.operation_name, s.status, s.duration_ms FROM json_array_elements_text(${JSON.stringify(ids)}::json) WITH ORDINALITY t (id, place) CROSS JOIN LATERAL (
      SELECT c.id, c.trace_id, c.operation AS operation_name, ${source.field('status_code', '').sql} AS status,
        round(coalesce(${LATENCY_MS}, 0)) AS duration_ms, c.started_at
      FROM ${source.from} WHERE ${where} ORDER BY c.started_at, c.id LIMIT ${limit}::bigint) s
    ORDER BY t.place, s.started_at, s.id LIMIT ${limit}::bigint`;
}

export const AGENT_FIELDS = [
  'invocation_count',
  'span_count',
  'total_input_tokens',
  'total_output_tokens',
  'total_duration_ms',
  'error_count',
  'first_seen',
  'last_seen',
] as const;
export const AGENT_SORTS = ['agent_name', 'agent_version', ...AGENT_FIELDS] as const;

interface AgentsRequest {
  project_id: string;
  agent_name?: string | null;
  /** All when empty. */
  sources: readonly string[];
  hasVersions: boolean;
  sort_by?: readonly Sort[] | null;
  limit: number;
  offset: number;
}

export interface AgentRow {
  agent_name: string;
  agent_version: string;
  total_count: number;
  [member: string]: unknown;
}

/** Levels between a span and the agent above it. */
const MAX_LEVELS = 16;

/**
 * Reads `names`: name and version of the nearest agent above the span `c`, or NULL. Each level is one look-up by the
 * key. It is not a function, because functions must not read tables on a cluster.
 */
export const agentAbove = (projectId: string) => sql`
  SELECT (WITH RECURSIVE above AS (
    SELECT c.parent_id, NULL::text[] COLLATE "C" AS names, 0 AS level
    UNION ALL
    SELECT p.parent_id, p.names, a.level + 1 FROM above a ${lookedUp(
      sql`SELECT p.parent_id, CASE WHEN p.agent_name IS NOT NULL THEN ARRAY[p.agent_name, p.agent_version] END AS names FROM calls p
        WHERE p.project_id = ${projectId} AND p.id = a.parent_id AND ${unseen(sql`p.trace_id = c.trace_id AND p.deleted_at IS NULL`)}`,
      'p',
    )}
    WHERE a.names IS NULL AND a.level < ${MAX_LEVELS}::int)
  SELECT a.names FROM above a WHERE a.names IS NOT NULL) AS names`;

/**
 * CTE `below`: the spans of one agent, and spans below them up to the next that names an agent. It follows the keys,
 * since few of many spans belong to the agent.
 */
export const belowAgent = (projectId: string, agentName: string) => sql`below AS (
  SELECT c.id, c.trace_id, c.agent_version, 0 AS level FROM calls c
  WHERE c.project_id = ${projectId} AND c.agent_name = ${agentName} AND c.deleted_at IS NULL
  UNION ALL
  SELECT c.id, c.trace_id, b.agent_version, b.level + 1 FROM below b ${lookedUp(
    sql`SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = ${projectId} AND c.parent_id = b.id AND c.agent_name IS NULL
      AND c.deleted_at IS NULL AND ${unseen(sql`c.trace_id = b.trace_id`)}`,
    'c',
  )}
  WHERE b.level < ${MAX_LEVELS}::int)`;

/** Reads the spans `c` of `below` that report usage. */
export const usageBelowAgent = (projectId: string, isCounted: Sql) =>
  sql`below b ${lookedUp(
    sql`SELECT c.* FROM calls c WHERE ${visibleIn(projectId)} AND c.id = b.id AND c.operation IS NOT NULL AND ${ownUsage} IS NOT NULL AND ${unseen(isCounted)}`,
    'c',
  )}`;

/**
 * Reads agents with sums over their spans. Tokens include spans below the agent's own that name no agent, as most spans
 * of models do: `docs/adr/0135-agents.md`.
 */
export function agentsQuery(asked: AgentsRequest): Sql<AgentRow> {
  const { project_id, agent_name, hasVersions, sources } = asked;
  const isCounted = allOf(isOneOf(sql`c.source`, sources));
  const version = hasVersions ? sql`coalesce(s.agent_version, '')` : sql`''`;
  const sums = {
    invocation_count: sql`count(*) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own)::int`,
    span_count: sql`count(*) FILTER (WHERE s.is_own)::int`,
    total_input_tokens: sql`coalesce(sum(u.input_tokens), 0)::float8`,
    total_output_tokens: sql`coalesce(sum(u.completion_tokens), 0)::float8`,
    total_duration_ms: sql`round(coalesce(sum(s.duration_ms) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own), 0)::numeric)::float8`,
    error_count: sql`count(*) FILTER (WHERE s.is_own AND s.is_error)::int`,
    first_seen: sql`min(s.started_at)`,
    last_seen: sql`max(s.started_at)`,
  };
  const sorts = (
    asked.sort_by?.length ? asked.sort_by : [{ field: 'last_seen', direction: 'desc' as const }]
  ).map(
    ({ field, direction }) =>
      sql`${identifier(field)} ${direction === 'desc' ? sql`DESC` : sql`ASC`} NULLS LAST`,
  );
  const isOne = agent_name !== null && agent_name !== undefined;
  const isOwnOnly = isOne ? sql`c.agent_name = ${agent_name}` : sql`TRUE`;
  const others = isOne
    ? sql`SELECT ${agent_name}::text, b.agent_version, c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
      FROM ${usageBelowAgent(project_id, isCounted)} WHERE b.level > 0`
    : sql`SELECT o.names[1], o.names[2], c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
      FROM calls c ${lookedUp(agentAbove(project_id), 'o')}
      WHERE ${visibleIn(project_id)} AND ${isCounted} AND c.operation IS NOT NULL AND c.agent_name IS NULL AND ${ownUsage} IS NOT NULL AND o.names IS NOT NULL`;
  return sql`
    WITH RECURSIVE ${isOne ? sql`${belowAgent(project_id, agent_name)},` : sql``} spans AS (
      SELECT c.agent_name, c.agent_version, c.operation, c.started_at, ${LATENCY_MS} AS duration_ms, c.exception IS NOT NULL AS is_error,
        ${ownUsage} AS usage, c.counts_gross, true AS is_own
      FROM calls c WHERE ${visibleIn(project_id)} AND c.agent_name IS NOT NULL AND ${isOwnOnly} AND ${isCounted}
      UNION ALL
      ${others}
    )
    SELECT g.agent_name, g.agent_version, ${join(AGENT_FIELDS.map((name) => (name.endsWith('seen') ? sql`${wireTime(identifier(`g_${name}`))} AS ${identifier(name)}` : sql`${identifier(`g_${name}`)} AS ${identifier(name)}`)))},
      count(*) OVER ()::int AS total_count
    FROM (
      SELECT s.agent_name, ${version} AS agent_version, ${join(AGENT_FIELDS.map((name) => sql`${sums[name]} AS ${identifier(`g_${name}`)}`))}
      FROM spans s CROSS JOIN LATERAL (
        SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens
        FROM ${usageRows(sql`s`)} u) u
      GROUP BY 1, 2) g
    ORDER BY ${join([...sorts, sql`agent_name COLLATE "C"`, sql`agent_version COLLATE "C"`])}
    LIMIT ${asked.limit}::bigint OFFSET ${asked.offset}::bigint`;
}

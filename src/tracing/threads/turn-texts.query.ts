import { lookedUp, unseen } from '../../platform/query/plans.js';
import { sql, type Sql } from '../../platform/query/sql.js';
import { visibleIn } from '../visible-calls.js';

/** A call of a turn. The turn's own call has depth 0. */
export interface TurnCall {
  turn_id: string;
  id: string;
  depth: number;
  started_at: string;
  ended_at: string | null;
  operation: string | null;
  /** True if the document is not empty. */
  has_inputs: boolean;
  has_output: boolean;
}

/** Largest size of an empty document: `null`, `{}`, `[]` or `""`, and the byte that PostgreSQL puts before it. */
const EMPTY_BYTES = 5;
const MAX_LEVELS = 64;

/** Columns of a call. Times are microseconds, which are as exact as the column. */
const CALL = sql`c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > ${EMPTY_BYTES}::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > ${EMPTY_BYTES}::int, false) AS has_output`;

/**
 * Selects each turn and the calls below it in the same trace, level by level, at most `most` of each turn. Children are
 * looked up in the index of parents, one look-up for each call, and none after the last returned call. Reads no
 * document.
 */
export const turnCalls = (
  projectId: string,
  turnIds: readonly string[],
  most: number,
): Sql<TurnCall> => sql`
  SELECT t.id AS turn_id, s.* FROM unnest(${turnIds}::text[]) t (id) ${lookedUp(
    sql`
    WITH RECURSIVE below AS (
      SELECT c.trace_id, 0 AS depth, ${CALL} FROM calls c WHERE ${visibleIn(projectId)} AND c.id = t.id
      UNION ALL
      SELECT c.* FROM below b ${lookedUp(
        sql`SELECT c.trace_id, b.depth + 1, ${CALL} FROM calls c
          WHERE ${visibleIn(projectId)} AND c.parent_id = b.id AND ${unseen(sql`c.trace_id = b.trace_id`)}`,
        'c',
      )}
      WHERE b.depth < ${MAX_LEVELS}::int)
    SELECT b.depth, b.id, b.started_at, b.ended_at, b.operation, b.has_inputs, b.has_output FROM below b LIMIT ${most}::bigint`,
    's',
  )}`;

/**
 * Selects first and last calls of a turn that has more calls than `turnCalls` returns. It takes the first and the last
 * `most` calls of the project that began during the turn, and keeps those in its trace.
 */
export const firstLastCalls = (projectId: string, turnId: string, most: number): Sql<TurnCall> => {
  const edge = (order: Sql) => sql`(
    SELECT c.* FROM calls t CROSS JOIN LATERAL (
      SELECT c.trace_id, c.id, c.started_at, c.ended_at, c.operation, c.inputs, c.output FROM calls c
      WHERE ${visibleIn(projectId)} AND c.started_at >= t.started_at AND c.started_at <= coalesce(t.ended_at, now())
      ${order} LIMIT ${most}::bigint) c
    WHERE t.project_id = ${projectId} AND t.id = ${turnId} AND c.trace_id = t.trace_id AND c.id <> t.id)`;
  return sql`
    SELECT ${turnId}::text AS turn_id, 1 AS depth, ${CALL} FROM (
      ${edge(sql`ORDER BY c.started_at, c.id`)} UNION ALL ${edge(sql`ORDER BY c.started_at DESC, c.id DESC`)}) c`;
};

export interface CallDocuments {
  id: string;
  inputs: string | null;
  output: string | null;
}

export const callDocuments = (
  projectId: string,
  ids: readonly string[],
  maxBytes: number,
): Sql<CallDocuments> => {
  const document = (column: Sql) =>
    sql`CASE WHEN octet_length(${column}::text) <= ${maxBytes}::int THEN ${column}::text END`;
  return sql`
    SELECT c.id, ${document(sql`c.inputs`)} AS inputs, ${document(sql`c.output`)} AS output
    FROM calls c WHERE ${visibleIn(projectId)} AND c.id = ANY(${ids}::text[])`;
};

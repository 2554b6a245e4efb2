// SQL: calls below turns.
import { lookedUp, unseen } from '../../platform/query/plans.js';
import { sql, type Sql } from '../../platform/query/sql.js';
import { visibleIn } from '../visible-calls.js';

/** A call of a turn, the turn's own one with depth 0. */
export interface TurnCall {
  turn_id: string;
  id: string;
  depth: number;
  started_at: string;
  ended_at: string | null;
  operation: string | null;
  /** Whether its inputs and its output hold more than an empty document. */
  has_inputs: boolean;
  has_output: boolean;
}

/** Longest document that counts as empty: `null`, `{}`, `[]` and `""`, with the byte that PostgreSQL puts before it. */
const EMPTY_BYTES = 5;
/** Levels below a turn. */
const MAX_LEVELS = 64;

/** Times as numbers of microseconds, which are as exact as the column. */
const CALL = sql`c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > ${EMPTY_BYTES}::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > ${EMPTY_BYTES}::int, false) AS has_output`;

/**
 * The turns and the calls below each, in the same trace, level by level, at most `most` of each: one look-up by the index of
 * parents for each call, and none after the last that is answered. No document is read.
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
 * The first and the last calls of a turn with more calls than `turnCalls` answers: of those of its project that began in its
 * time, at most `most` from either end, those of its trace.
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

/** The documents of calls, each null that is over `maxBytes`. */
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

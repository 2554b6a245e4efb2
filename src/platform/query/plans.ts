import { identifier, sql, type Sql } from './sql.js';

/*
 * SQL fragments that leave the planner only one good plan, where its estimates are wrong. The planner assumes that each
 * project has 1/200 of a table, however many rows it has (docs/adr/0007-no-statistics-of-projects.md). It also assumes
 * few rows in a table that was just filled or vacuumed. Use these functions instead of the raw SQL; plans.spec.ts
 * rejects it elsewhere. `test/platform/linear-plans.e2e-spec.ts` counts the rows that plans read.
 */

/** A subquery whose columns PostgreSQL computes once. `OFFSET 0` keeps it from computing them again at each use. */
export const computedOnce = (select: Sql, as: string) =>
  sql`(${select} OFFSET 0) ${identifier(as)}`;

/**
 * Looks up rows for each previous row, by an index. As a plain join PostgreSQL may compare all rows with all: it read
 * hundreds of rows for each of a few thousand, instead of at most 25.
 */
export const lookedUp = (select: Sql, as: string) =>
  sql`CROSS JOIN LATERAL ${computedOnce(select, as)}`;

/** Hides a condition from the planner, so that it chooses no index for the condition alone. */
export const unseen = (condition: Sql) => sql`(${condition}) IS TRUE`;

/**
 * LIMIT of a page, including the rows before it. The planner cannot see the number and assumes a tenth of the rows.
 * With a visible limit it expects 100 of a project's 20,000 rows in a table of one project. It then sorts all of them
 * (6.4 ms) instead of reading a page in the order of an index (0.35 ms).
 */
export const pageLimit = (limit: number | null | undefined, offset?: number | null) =>
  limit === null || limit === undefined
    ? sql``
    : sql`LIMIT (SELECT ${limit}::bigint + ${offset ?? 0}::bigint)`;

/**
 * Selects the rows `c` of `near` if there are `rows` of them, otherwise the rows of `all`. Only statistics of columns
 * could predict whether the rows near the start fill a page, and PostgreSQL has none after a bulk load. Checking the
 * next 2000 calls costs some 3 ms (docs/adr/0018-lists-of-calls.md).
 */
export const nearOrAll = (near: Sql, all: Sql, rows: number) => sql`
    WITH near AS MATERIALIZED (${near})
    SELECT c.* FROM (
      SELECT c.* FROM near c WHERE (SELECT count(*) FROM near) = ${rows}::bigint
      UNION ALL
      SELECT c.* FROM (${all}) c WHERE (SELECT count(*) FROM near) < ${rows}::bigint) c`;

/** Number of texts of any length that fit into the default `work_mem` as a hash table. */
const FEW = 5000;

/**
 * Returns the condition that the value of a column is in none of the rows that `from` (FROM … WHERE …) selects. Few
 * rows are hashed once; many are looked up for each value. Plain NOT EXISTS leaves this choice to the planner. It
 * assumes that a table that was just vacuumed is empty, and may then compare every value with every row.
 */
export const isInNone = (value: Sql, column: Sql, from: Sql) => sql`
  CASE WHEN (SELECT count(*) FROM (SELECT ${from} LIMIT ${FEW + 1}::bigint) s) <= ${FEW}::bigint
    THEN ${value} NOT IN (SELECT ${column} ${from} LIMIT ${FEW}::bigint)
    ELSE (SELECT TRUE ${from} AND ${column} = ${value} LIMIT 1) IS NOT TRUE
  END`;

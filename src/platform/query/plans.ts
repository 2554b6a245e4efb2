import { identifier, sql, type Sql } from './sql.js';

/*
 * Forms that leave the planner one good plan, where it cannot know which is: it expects each project to have 1/200 of a table, whatever
 * it has (docs/adr/0007-no-statistics-of-projects.md), and few rows in a table that was just filled or vacuumed. Each has its name here,
 * and plans.spec.ts finds the raw forms anywhere else. `test/platform/linear-plans.e2e-spec.ts` counts the rows that plans read.
 */

/** A select that PostgreSQL runs as it stands: `OFFSET 0` keeps its columns from being computed again wherever they are used. */
export const computedOnce = (select: Sql, as: string) =>
  sql`(${select} OFFSET 0) ${identifier(as)}`;

/**
 * A look-up for each row before it, by an index. As a join it may compare all with all: hundreds of rows read for each of a few
 * thousand in place of at most 25.
 */
export const lookedUp = (select: Sql, as: string) =>
  sql`CROSS JOIN LATERAL ${computedOnce(select, as)}`;

/** A condition that the planner does not see: no index serves it, and so none is chosen for it alone. */
export const unseen = (condition: Sql) => sql`(${condition}) IS TRUE`;

/**
 * The LIMIT of a page, and of what comes before it. The planner cannot see it and takes it for a tenth of the rows. It
 * expects 100 of a project's 20,000 rows in a table of one project, and would rather sort them all (6.4 ms) than read
 * a page in the order of an index (0.35 ms).
 */
export const pageLimit = (limit: number | null | undefined, offset?: number | null) =>
  limit === null || limit === undefined
    ? sql``
    : sql`LIMIT (SELECT ${limit}::bigint + ${offset ?? 0}::bigint)`;

/**
 * The rows `c` of `near` if they are as many as asked for, or else those of `all`. Whether a page is full of rows next to where it
 * begins, or of few in the whole project, only statistics of columns could tell: PostgreSQL has none after a bulk load. To look at the
 * next 2000 calls costs some 3 ms (docs/adr/0018-lists-of-calls.md).
 */
export const nearOrAll = (near: Sql, all: Sql, rows: number) => sql`
    WITH near AS MATERIALIZED (${near})
    SELECT c.* FROM (
      SELECT c.* FROM near c WHERE (SELECT count(*) FROM near) = ${rows}::bigint
      UNION ALL
      SELECT c.* FROM (${all}) c WHERE (SELECT count(*) FROM near) < ${rows}::bigint) c`;

/** So many fit into the default `work_mem` as a hash table, however long the texts are. */
const FEW = 5000;

/**
 * Whether the value of a column is in none of the rows that `from` (FROM … WHERE …) selects. A few are hashed once, many are
 * looked up for each value. Plain NOT EXISTS leaves the choice to the planner, which takes a table that was just vacuumed for
 * empty and may compare every value with every row.
 */
export const isInNone = (value: Sql, column: Sql, from: Sql) => sql`
  CASE WHEN (SELECT count(*) FROM (SELECT ${from} LIMIT ${FEW + 1}::bigint) s) <= ${FEW}::bigint
    THEN ${value} NOT IN (SELECT ${column} ${from} LIMIT ${FEW}::bigint)
    ELSE (SELECT TRUE ${from} AND ${column} = ${value} LIMIT 1) IS NOT TRUE
  END`;

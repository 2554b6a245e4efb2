// SQL: tables are named by their entities, and rows are locked, counted and erased in one statement.
import { identifier, join, sql, type Sql } from '../query/sql.js';

export interface ErasableTable {
  name: string;
  /** The columns of its primary key after `project_id`. Empty when a project has only one row. */
  key: { name: string; type: string }[];
  /** Columns with values of any size. */
  documents: string[];
}

/** The values of a key after the project, as texts. */
export type RowKey = string[];

/** Most rows of a batch, and most bytes of their documents as they are stored. One row is always included. */
const MAX_ROWS = 500;
const MAX_BYTES = 8 * 1024 * 1024;

const list = (parts: Sql[]) => join(parts);

const columns = ({ key }: ErasableTable) => list(key.map(({ name }) => sql`t.${identifier(name)}`));

const texts = ({ key }: ErasableTable) =>
  sql`ARRAY[${list(key.map(({ name }) => sql`t.${identifier(name)}::text`))}]::text[]`;

/** Returns a key whose values have the types of the columns. */
const typed = ({ key }: ErasableTable, given: RowKey) =>
  list(key.map(({ type }, i) => sql`${given[i]}::${identifier(TYPES[type] ?? type)}`));
const TYPES: Record<string, string> = { int: 'int4', bigint: 'int8' };

const isBetween = (table: ErasableTable, after: RowKey | null, until: RowKey) =>
  sql`(${columns(table)}) <= (${typed(table, until)})
    ${after ? sql`AND (${columns(table)}) > (${typed(table, after)})` : sql``}`;

export function lastKeyQuery(table: ErasableTable, projectId: string): Sql<{ key: RowKey }> {
  const order = table.key.map(({ name }) => sql`t.${identifier(name)} DESC`);
  return sql`SELECT ${texts(table)} AS key FROM ${identifier(table.name)} t WHERE t.project_id = ${projectId}
    ${order.length > 0 ? sql`ORDER BY ${list(order)}` : sql``} LIMIT 1`;
}

/**
 * Deletes the next rows of a project, in the order of their keys, in which other writes lock them too. Returns their
 * number, and the key of the last one, or null when none was left. Idempotency keys of the erasing itself, or later
 * ones, are kept.
 */
export function rowsDelete(
  table: ErasableTable,
  projectId: string,
  { after, until, before }: { after: RowKey | null; until: RowKey; before: string },
): Sql<{ rows: number; last: RowKey | null }> {
  const name = identifier(table.name);
  if (table.key.length === 0)
    return sql`WITH gone AS (DELETE FROM ${name} t WHERE t.project_id = ${projectId} RETURNING 1)
      SELECT count(*)::int AS rows, NULL::text[] AS last FROM gone`;
  const bytes = table.documents.map(
    (column) => sql`coalesce(pg_column_size(t.${identifier(column)}), 0)`,
  );
  const isOlder =
    table.name === 'idempotency_keys' ? sql`AND t.created_at < ${before}::timestamptz` : sql``;
  return sql`
    WITH next AS MATERIALIZED (
      SELECT ${texts(table)} AS erased_key, ${bytes.length > 0 ? join(bytes, ' + ') : sql`0`} AS erased_bytes
      FROM ${name} t
      WHERE t.project_id = ${projectId} AND ${isBetween(table, after, until)} ${isOlder}
      ORDER BY ${columns(table)} LIMIT ${MAX_ROWS}::bigint FOR UPDATE
    ), placed AS (
      SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
    ), doomed AS MATERIALIZED (
      SELECT erased_key, place FROM (
        SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
      WHERE before < ${MAX_BYTES}::bigint
    ), gone AS (
      DELETE FROM ${name} t USING doomed d WHERE t.project_id = ${projectId} AND ${join(
        table.key.map(
          ({ name: column, type }, i) =>
            sql`t.${identifier(column)} = d.erased_key[${i + 1}::int]::${identifier(TYPES[type] ?? type)}`,
        ),
        ' AND ',
      )} RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone)::int AS rows,
      (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last`;
}

export const uploadsDelete = (projectId: string) =>
  sql`DELETE FROM uploads WHERE project_id = ${projectId} RETURNING 1`;

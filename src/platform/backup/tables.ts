import { type CopyToStreamQuery, to as copyTo } from 'pg-copy-streams';
import { SQL_FILES } from '../database/sql-files.js';
import type { PoolClient } from '../pg/driver.js';

export interface StoredTable {
  name: string;
  columns: string[];
  bytes: number;
}

/** Returns all tables of the service by name, except those that record its migrations. */
export async function listTables(client: PoolClient): Promise<StoredTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; bytes: string }>(
    `
    SELECT c.relname AS name, pg_table_size(c.oid) AS bytes,
      (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
       WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
    FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname <> ALL ($1)
    ORDER BY c.relname COLLATE "C"`,
    [['migrations', SQL_FILES]],
  );
  return rows.map(({ bytes, ...table }) => ({ ...table, bytes: Number(bytes) }));
}

/** Reads the rows in the text format of PostgreSQL's COPY. `rowCount` is their number at the end. */
export const readRows = (
  client: PoolClient,
  table: Pick<StoredTable, 'name' | 'columns'>,
): CopyToStreamQuery =>
  client.query(copyTo(`COPY ${quoteIdentifier(table.name)} (${columnList(table)}) TO STDOUT`));

/** Returns the name of the newest migration that the database has run. Empty when it has run none. */
export async function readSchema(client: PoolClient): Promise<string> {
  const { rows: found } = await client.query<{ name: string | null }>(
    `SELECT to_regclass('migrations')::text AS name`,
  );
  if (!found[0]!.name) return '';
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM migrations ORDER BY timestamp DESC LIMIT 1',
  );
  return rows[0]?.name ?? '';
}

/** @throws Error naming a table that contains rows. */
export async function assertEmpty(
  client: PoolClient,
  tables: readonly StoredTable[],
): Promise<void> {
  for (const { name } of tables) {
    const { rowCount } = await client.query(`SELECT 1 FROM ${quoteIdentifier(name)} LIMIT 1`);
    if (rowCount)
      throw new Error(
        `the database is not empty (${name} holds rows): restore into a new DATA_DIR or an empty database`,
      );
  }
}

export const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

export const columnList = ({ columns }: { columns: string[] }) =>
  columns.map(quoteIdentifier).join(', ');

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataSource } from 'typeorm';
import { countingSql } from './project-counting.js';

/** `src/`, where each feature has its functions and triggers beside its code. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Table with the hashes of the texts that were applied last. Like `migrations` it belongs to the schema and not to the
 * data.
 */
export const SQL_FILES = 'sql_files';

interface SqlFile {
  name: string;
  text: string;
}

/** Returns the current functions and triggers of all features. Each text can be applied repeatedly. */
function sqlFiles({ entityMetadatas }: DataSource): SqlFile[] {
  const names = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.sql') && !name.includes('/migrations/'))
    .toSorted();
  return [
    ...names.map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') })),
    { name: 'counting', text: countingSql(entityMetadatas) },
  ];
}

/**
 * Applies the texts that have changed, or all of them, in one transaction. Returns their names. PostgreSQL does not
 * check the bodies of functions here, so that a text may use functions of later texts.
 */
export function applySqlFiles(dataSource: DataSource, { all = false }): Promise<string[]> {
  return dataSource.transaction(async (manager) => {
    // A role that runs the service may have no right to create tables.
    const [{ table }] = await manager.query<[{ table: string | null }]>(
      `SELECT to_regclass('${SQL_FILES}') AS table`,
    );
    if (!table)
      await manager.query(`CREATE TABLE ${SQL_FILES} (
        name text COLLATE "C" CONSTRAINT ${SQL_FILES}_pkey PRIMARY KEY, hash text NOT NULL)`);
    const rows = await manager.query<SqlFile[]>(`SELECT name, hash AS text FROM ${SQL_FILES}`);
    const applied = new Map(rows.map(({ name, text }) => [name, text]));
    const due = sqlFiles(dataSource).filter(
      ({ name, text }) => all || applied.get(name) !== hashText(text),
    );
    if (due.length === 0) return [];
    await manager.query('SET LOCAL check_function_bodies = off');
    for (const { name, text } of due) {
      await manager.query(text);
      await manager.query(
        `INSERT INTO ${SQL_FILES} (name, hash) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET hash = excluded.hash`,
        [name, hashText(text)],
      );
    }
    return due.map(({ name }) => name);
  });
}

const hashText = (text: string) => createHash('sha256').update(text).digest('hex');

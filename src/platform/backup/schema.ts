import { DataSource } from 'typeorm';
import { migrateTables } from '../database/migrate.js';
import {
  describeBuild,
  listMigrations,
  schemaMigration,
  ownMigrations,
  schemaState,
} from '../database/schema-state.js';
import { DamagedBackup } from './backup-file.js';
import { withClient } from './client.js';
import { assertEmpty, readSchema, listTables } from './tables.js';

/** @throws Error when the schema of a backup is newer than this build, whose options `described` has. */
export function assertRestorable(schema: string, described: Pick<DataSource, 'options'>): void {
  if (schema === '') throw new DamagedBackup('it names no schema');
  if (!ownMigrations(described).includes(schemaMigration(described, schema)))
    throw new Error(
      `the backup was made by a newer version, or by one before commit 721c2bc (its schema is ${schema}; this build is ${describeBuild(described)}): ` +
        'restore it with that version',
    );
}

/**
 * Gives an empty database the schema of a backup. Newer migrations that it has already run are undone; `migrate`
 * updates it to the newest schema after the restore.
 * @throws Error when the schema of the backup or of the database is newer than this build, or the database contains
 * rows.
 */
export async function prepareSchema(dataSource: DataSource, schema: string): Promise<void> {
  assertRestorable(schema, dataSource);
  const names = ownMigrations(dataSource);
  const target = names.indexOf(schemaMigration(dataSource, schema));
  const { unknown } = await schemaState(dataSource);
  if (unknown.length > 0)
    throw new Error(
      `the database has run ${listMigrations(unknown)}: restore into a new DATA_DIR or an empty database`,
    );
  await withClient(dataSource, async (client) => assertEmpty(client, await listTables(client)));
  const current = names.indexOf(await withClient(dataSource, readSchema));
  for (let at = current; at > target; at--) await dataSource.undoLastMigration();
  const upToThere = (dataSource.options.migrations as (abstract new () => object)[]).slice(
    0,
    target + 1,
  );
  const limited = await new DataSource({
    ...dataSource.options,
    migrations: upToThere,
  }).initialize();
  try {
    await migrateTables(limited);
  } finally {
    await limited.destroy();
  }
}

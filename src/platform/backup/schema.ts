import { DataSource } from 'typeorm';
import { migrate } from '../database/migrate.js';
import { DamagedBackup } from './backup-file.js';
import { withClient } from './client.js';
import { assertEmpty, schemaOf, tablesOf } from './tables.js';

/**
 * Gives an empty database the schema that a backup was taken from. Newer migrations that it has run already are taken
 * back; `migrate` brings it to the newest one once the rows are in.
 * @throws Error when the schema is newer than this version, or the database holds rows.
 */
export async function prepareSchema(dataSource: DataSource, schema: string): Promise<void> {
  const names = dataSource.migrations.map(({ name, constructor }) => name ?? constructor.name);
  const target = names.indexOf(schema);
  if (typeof schema !== 'string' || schema === '') throw new DamagedBackup('it names no schema');
  if (target < 0)
    throw new Error(
      `the backup was made by a newer version (its schema is ${schema}, the newest known here is ${names.at(-1)}): ` +
        'restore it with that version or a later one',
    );
  await withClient(dataSource, async (client) => assertEmpty(client, await tablesOf(client)));
  const current = names.indexOf(await withClient(dataSource, schemaOf));
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
    await migrate(limited);
  } finally {
    await limited.destroy();
  }
}

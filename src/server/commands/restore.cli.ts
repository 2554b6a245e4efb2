import 'reflect-metadata';
import { dataSourceOptions } from '../../../ormconfig.js';
import { command, say, withDatabase } from './command.js';
import { migrate } from '../../platform/database/migrate.js';
import { withClient } from '../../platform/backup/client.js';
import { Progress } from '../../platform/backup/progress.js';
import { openBackup, restore } from '../../platform/backup/restore.js';
import { assertRestorable, prepareSchema } from '../../platform/backup/schema.js';
import { typed } from '../../platform/program.js';

const USAGE = `${typed('restore', 'FILE')}

Puts a backup into an empty database: a new DATA_DIR, or an empty database that DATABASE_URL names.`;

await command(USAGE, async () => {
  const [file, ...others] = process.argv.slice(2);
  if (!file || file.startsWith('-') || others.length > 0) throw new Error(USAGE);
  const backup = await openBackup(file);
  assertRestorable(backup.header.schema, { options: dataSourceOptions('') }); // before a database is made for it
  await withDatabase(
    async (dataSource) => {
      await prepareSchema(dataSource, backup.header.schema);
      const progress = new Progress('restore');
      await withClient(dataSource, (client) => restore(client, backup, progress));
      await migrate(dataSource);
      const rows = backup.header.tables.reduce((sum, table) => sum + table.rows, 0);
      say(
        `restored ${rows} rows of ${backup.header.tables.length} tables, ${progress.summary()}, ` +
          `as they were on ${backup.header.created_at}`,
      );
    },
    { makes: 'database' },
  );
});

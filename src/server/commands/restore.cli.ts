import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { dataSourceOptions } from '../../../ormconfig.js';
import { runCommand, printOutput, withDatabase } from './command.js';
import { openBackupFile, readIdentity, IDENTITY_OPTION } from './backup-source.js';
import { restoreToTime } from './point-in-time-restore.js';
import { config } from '../../platform/config/process-config.js';
import { migrate } from '../../platform/database/migrate.js';
import { withClient } from '../../platform/backup/client.js';
import { locateBackup } from '../../platform/backup/storage-location.js';
import { BackupProgress } from '../../platform/backup/progress.js';
import { restore } from '../../platform/backup/restore.js';
import { assertRestorable, prepareSchema } from '../../platform/backup/schema.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('restore', '[--identity FILE] FILE')}
${commandText('restore', '[--identity FILE] --to-time TIME')}

Puts a backup into an empty database: a new DATA_DIR, or an empty database that DATABASE_URL names. FILE is a path,
s3://bucket/prefix/name, or - for standard input. The file of --identity, or else BACKUP_IDENTITY, opens what is encrypted.
--to-time brings the embedded database back as it was at that time, such as 2026-11-24T10:00:00Z, or with latest at the end of what is kept in
BACKUP_URL by BACKUP_WAL=1, into a new DATA_DIR.`;

function parse() {
  try {
    const options = { 'to-time': { type: 'string' }, ...IDENTITY_OPTION } as const;
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${USAGE}`, { cause: error });
  }
}

async function restoreFile(file: string, identityFile: string | undefined): Promise<void> {
  const backup = await openBackupFile(locateBackup(file, config.s3), identityFile);
  assertRestorable(backup.header.schema, { options: dataSourceOptions('') }); // before a database is created for it
  await withDatabase(
    async (dataSource) => {
      await prepareSchema(dataSource, backup.header.schema);
      const progress = new BackupProgress('restore');
      await withClient(dataSource, (client) => restore(client, backup, progress));
      await migrate(dataSource);
      const rows = backup.header.tables.reduce((sum, table) => sum + table.rows, 0);
      printOutput(
        `restored ${rows} rows of ${backup.header.tables.length} tables, ${progress.summary()}, ` +
          `as they were on ${backup.header.created_at}`,
      );
    },
    { makes: 'database' },
  );
}

await runCommand(USAGE, async () => {
  const { values, positionals } = parse();
  const [file, ...others] = positionals;
  const time = values['to-time'];
  if (others.length > 0 || (file === undefined) === (time === undefined)) throw new Error(USAGE);
  if (time !== undefined) return restoreToTime(time, await readIdentity(values.identity));
  if (!file) throw new Error(USAGE);
  return restoreFile(file, values.identity);
});

import 'reflect-metadata';
import { stat } from 'node:fs/promises';
import { addEventBefore, BACKUP_CREATE } from '../../platform/audit/add-event.js';
import { Database } from '../../platform/database/database.js';
import { command, operator, say, withDatabase } from './command.js';
import { assertSchemaKnown } from '../../platform/database/schema-state.js';
import { config } from '../../platform/config/process-config.js';
import type { BackupHeader } from '../../platform/backup/backup-file.js';
import { backup } from '../../platform/backup/backup.js';
import { withClient } from '../../platform/backup/client.js';
import { Progress } from '../../platform/backup/progress.js';

const USAGE = `npm run backup -- [--without-audit] FILE

Writes one snapshot of the whole database into a new file. Works beside a running service. The audit tells of it first;
--without-audit is for a database that takes no writes.`;

const WITHOUT_AUDIT = '--without-audit';
const MIB = 1024 * 1024;

/** A backup holds everything, so none is made of which the audit does not tell. */
async function tellAudit(database: Database, rows: number): Promise<void> {
  try {
    await addEventBefore(database, { action: BACKUP_CREATE, by: operator(), detail: { rows } });
  } catch (error) {
    const { message, cause } = error as Error;
    const why = (cause as Error).message;
    throw new Error(`${message} (${why}); ${WITHOUT_AUDIT} makes a backup all the same`, {
      cause: error,
    });
  }
}

const countRows = ({ tables }: BackupHeader) => tables.reduce((sum, { rows }) => sum + rows, 0);

await command(async () => {
  const args = process.argv.slice(2);
  const [file, ...others] = args.filter((arg) => arg !== WITHOUT_AUDIT);
  if (!file || file.startsWith('-') || others.length > 0) throw new Error(USAGE);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort(new Error(`${signal}: no backup was made`)));
  await withDatabase(async (dataSource) => {
    await assertSchemaKnown(dataSource, config);
    const database = new Database(dataSource, config);
    const progress = new Progress('backup');
    const before = args.includes(WITHOUT_AUDIT)
      ? undefined
      : (header: BackupHeader) => tellAudit(database, countRows(header));
    const header = await withClient(dataSource, (client) =>
      backup(client, file, { progress, signal: interrupted.signal, before }),
    );
    const { size } = await stat(file);
    const rows = countRows(header);
    say(
      `${file}: ${rows} rows of ${header.tables.length} tables, ${progress.summary()}, ` +
        `${(size / MIB).toFixed(1)} MiB compressed, schema ${header.schema}`,
    );
  });
});

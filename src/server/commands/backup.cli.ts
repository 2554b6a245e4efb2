import 'reflect-metadata';
import { stat } from 'node:fs/promises';
import { addEventAlone, BACKUP_CREATE } from '../../platform/audit/add-event.js';
import { Database } from '../../platform/database/database.js';
import { command, operator, say, tell, withDatabase } from './command.js';
import { assertSchemaKnown } from '../../platform/database/schema-state.js';
import { config } from '../../platform/config/process-config.js';
import { backup } from '../../platform/backup/backup.js';
import { withClient } from '../../platform/backup/client.js';
import { Progress } from '../../platform/backup/progress.js';
import { typed } from '../../platform/program.js';

const USAGE = `${typed('backup', 'FILE')}

Writes one snapshot of the whole database into a new file. Works beside a running service.`;

const MIB = 1024 * 1024;

await command(USAGE, async () => {
  const [file, ...others] = process.argv.slice(2);
  if (!file || file.startsWith('-') || others.length > 0) throw new Error(USAGE);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort(new Error(`${signal}: no backup was made`)));
  await withDatabase(async (dataSource) => {
    await assertSchemaKnown(dataSource, config);
    const progress = new Progress('backup');
    const header = await withClient(dataSource, (client) =>
      backup(client, file, { progress, signal: interrupted.signal }),
    );
    const { size } = await stat(file);
    const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
    const event = { action: BACKUP_CREATE, by: operator(), detail: { rows, bytes: size } };
    // the database may be one that only answers: the backup is made all the same
    await addEventAlone(new Database(dataSource, config), event).catch((error: Error) =>
      tell(`the audit does not tell of this backup: ${error.message}`),
    );
    say(
      `${file}: ${rows} rows of ${header.tables.length} tables, ${progress.summary()}, ` +
        `${(size / MIB).toFixed(1)} MiB compressed, schema ${header.schema}`,
    );
  });
});

import { join, resolve } from 'node:path';
import { realpathSync } from 'node:fs';
import { baseBackup } from '../../platform/backup/base-backup.js';
import type { BackupStorage } from '../../platform/backup/backup-storage.js';
import { pruneBases } from '../../platform/backup/wal-archive.js';
import { config } from '../../platform/config/process-config.js';
import { withConnection } from '../../platform/pg/driver.js';
import { embeddedPostgresUrl } from '../../platform/postgres/embedded-postgres.js';
import { printOutput } from './command.js';

/** Copies the data folder of the running service, whose process stores the WAL meanwhile. Prints name and size. */
export async function makeBaseBackup(place: BackupStorage, signal: AbortSignal): Promise<void> {
  const url = await embeddedPostgresUrl(config.dataDir);
  if (url === undefined || !config.isWalKept)
    throw new Error(
      `a base is made of the embedded database of a running service with BACKUP_WAL=1: none runs on ${resolve(config.dataDir)} (DATA_DIR)`,
    );
  await withConnection(url, async (client) => {
    const pgdata = realpathSync(join(config.dataDir, 'pgdata'));
    const options = { place, recipients: config.backupRecipients, signal };
    const { name, bytes } = await baseBackup(client, pgdata, options);
    printOutput(`${place.show(name)}: ${bytes} bytes`);
  });
  for (const name of await pruneBases(place, config.backupKeep)) printOutput(`removed ${name}`);
}

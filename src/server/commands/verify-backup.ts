import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dataSourceOptions } from '../../../ormconfig.js';
import { DamagedBackup } from '../../platform/backup/backup-file.js';
import { withClient } from '../../platform/backup/client.js';
import { BackupProgress } from '../../platform/backup/progress.js';
import { type OpenBackup, restore } from '../../platform/backup/restore.js';
import { assertRestorable, prepareSchema } from '../../platform/backup/schema.js';
import { readRows } from '../../platform/backup/tables.js';
import { config } from '../../platform/config/process-config.js';
import { UNLIMITED_SESSION } from '../../platform/database/limits.js';
import { withConnection } from '../../platform/pg/driver.js';
import { connectDatabase, openPostgres } from '../database-connection.js';
import { printOutput, withPostgres } from './command.js';

/** Restores a backup into a temporary database, and compares every row with the file. */
export async function verify(backup: OpenBackup, shown: string): Promise<void> {
  const { schema, tables, created_at } = backup.header;
  assertRestorable(schema, { options: dataSourceOptions('') });
  await withServer((url) =>
    withTemporaryDatabase(url, async (temporary) => {
      const dataSource = await connectDatabase(temporary, UNLIMITED_SESSION);
      try {
        await prepareSchema(dataSource, schema);
        const progress = new BackupProgress('verify');
        const ends = await withClient(dataSource, (client) => restore(client, backup, progress));
        await withClient(dataSource, async (client) => {
          for (const table of tables) {
            const sum = createHash('sha256');
            const rows = readRows(client, table);
            for await (const piece of rows as AsyncIterable<Buffer>) sum.update(piece);
            const end = ends.find(({ name }) => name === table.name)!;
            if (rows.rowCount !== end.rows || sum.digest('hex') !== end.sha256)
              throw new DamagedBackup(`the rows of ${table.name} are not what was restored`);
          }
        });
        const count = ends.reduce((sum, { rows }) => sum + rows, 0);
        printOutput(
          `${shown}: ${count} rows of ${tables.length} tables are whole, as of ${created_at}`,
        );
      } finally {
        await dataSource.destroy();
      }
    }),
  );
}

/**
 * Uses the server of the service. Where DATA_DIR has no database, as in a job of its own, it makes a server there that
 * it removes. That server must not store its log in BACKUP_URL.
 */
async function withServer(work: (url: string) => Promise<void>): Promise<void> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl || existsSync(join(dataDir, 'pgdata')))
    return withPostgres({ mustExist: true }, work);
  mkdirSync(dataDir, { recursive: true });
  const folder = mkdtempSync(join(dataDir, 'verify-'));
  const remove = (path: string) => rmSync(path, { recursive: true, force: true });
  try {
    const postgres = await openPostgres({ ...config, dataDir: folder, isWalKept: false }, {});
    try {
      await work(postgres.url);
    } finally {
      await postgres.stop();
      remove(postgres.folder!);
    }
  } finally {
    remove(folder);
  }
}

async function withTemporaryDatabase(
  url: string,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const name = `skein_verify_${randomBytes(8).toString('hex')}`;
  await withConnection(url, async (admin) => {
    await admin
      .query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
      .catch(({ message }: Error) => {
        throw new Error(
          `no temporary database can be made: ${message}. Without DATABASE_URL and with an empty DATA_DIR, --verify makes a server`,
        );
      });
    try {
      await work(withDatabaseName(url, name));
    } finally {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  });
}

/** Returns the URL of another database on the same server. The host may be empty, with a socket in the parameters. */
function withDatabaseName(url: string, name: string): string {
  const address = new URL(url.replace('@/', '@localhost/'));
  address.pathname = `/${name}`;
  return address.href;
}

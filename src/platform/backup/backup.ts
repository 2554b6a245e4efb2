import { createHash } from 'node:crypto';
import {
  type BackupHeader,
  FORMAT,
  FrameWriter,
  isEmptyBackup,
  type TableEnd,
} from './backup-file.js';
import type { PoolClient } from '../pg/driver.js';
import { encrypted } from './encryption.js';
import { zipped } from './gzip.js';
import type { BackupStorage } from './backup-storage.js';
import type { BackupProgress } from './progress.js';
import { quoteIdentifier, readRows, readSchema, listTables } from './tables.js';

interface Options {
  progress: BackupProgress;
  recipients: readonly string[];
  signal?: AbortSignal;
  /** Runs after the header is known and before anything is written. If it fails, no backup is made. */
  before?: (header: BackupHeader) => Promise<void>;
}

/**
 * Writes all data of the database into a new file, as one snapshot. It contains exactly what was committed before it
 * began. Readers and writers continue meanwhile; only migrations wait. Memory does not grow with the data. The file
 * appears under its name when it is complete. After an error the connection cannot be used any more.
 * @throws Error when the file exists already, or the database holds no data.
 */
export async function backup(
  client: PoolClient,
  { place, name }: { place: BackupStorage; name: string },
  { progress, recipients, signal, before }: Options,
): Promise<{ header: BackupHeader; bytes: number }> {
  if (await place.has(name))
    throw new Error(`${place.show(name)} exists: a backup never replaces a file`);
  await beginSnapshot(client);
  const header = await makeHeader(client);
  if (isEmptyBackup(header)) throw new Error(NOTHING);
  await before?.(header);
  progress.expect(header.tables);
  const rows = zipped(frames(client, header, progress));
  const bytes = await place.write(name, encrypted(rows, recipients), signal);
  await client.query('COMMIT');
  return { header, bytes };
}

const NOTHING =
  'the database holds no key and no project, so there is nothing to back up: ' +
  'set DATABASE_URL or DATA_DIR as for the service';

/**
 * Begins the snapshot. Tables are read from their first page, so that two backups of the same data have the same order.
 */
async function beginSnapshot(client: PoolClient): Promise<void> {
  await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL synchronize_seqscans = off`);
}

async function makeHeader(client: PoolClient): Promise<BackupHeader> {
  const tables = [];
  for (const { name, columns, bytes } of await listTables(client)) {
    const { rows } = await client.query<{ count: string }>(
      `SELECT count(*) FROM ${quoteIdentifier(name)}`,
    );
    tables.push({ name, columns, bytes, rows: Number(rows[0]!.count) });
  }
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  return {
    skein_backup: FORMAT,
    schema: await readSchema(client),
    created_at: new Date().toISOString(),
    postgres: rows[0]!.server_version,
    tables,
  };
}

async function* frames(
  client: PoolClient,
  header: BackupHeader,
  progress: BackupProgress,
): AsyncGenerator<Buffer> {
  const writer = new FrameWriter();
  yield writer.frame('H', header);
  const ends: TableEnd[] = [];
  for (const table of header.tables) {
    progress.begin(table);
    const sum = createHash('sha256');
    const rows = readRows(client, table);
    for await (const piece of rows as AsyncIterable<Buffer>) {
      sum.update(piece);
      progress.add(piece);
      yield writer.frame('D', piece);
    }
    const end = { name: table.name, rows: rows.rowCount, sha256: sum.digest('hex') };
    ends.push(end);
    yield writer.frame('E', end);
  }
  yield writer.frame('M', { tables: ends, sha256: writer.sha256() });
}

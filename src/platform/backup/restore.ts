import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import {
  type BackupHeader,
  DamagedBackup,
  FORMAT,
  type Frame,
  readFrames,
  isEmptyBackup,
  parseFrame,
  type BackupManifest,
  type TableEnd,
  type TableHeader,
} from './backup-file.js';
import type { PoolClient } from '../pg/driver.js';
import { decrypted } from './encryption.js';
import { unzipped } from './gzip.js';
import type { ByteStream } from './backup-storage.js';
import type { BackupProgress } from './progress.js';
import {
  assertEmpty,
  columnList,
  quoteIdentifier,
  type StoredTable,
  listTables,
} from './tables.js';

type Frames = AsyncGenerator<Frame & { sha256Before: () => string }>;

/** An open backup: its header has been read, its rows have not. */
export interface OpenBackup {
  header: BackupHeader;
  frames: Frames;
}

/**
 * Reads the header of a backup. An encrypted backup is decrypted with the identity.
 * @throws DamagedBackup, and Error when the backup is not for this version, or empty.
 */
export async function openBackup(
  bytes: ByteStream,
  identity: string | undefined,
): Promise<OpenBackup> {
  const frames = readFrames(unzipped(decrypted(bytes, identity)));
  const header = parseFrame(await next(frames, 'H')) as Partial<BackupHeader> | null;
  if (header?.skein_backup !== undefined && header.skein_backup !== FORMAT)
    throw new Error(
      `the file has the format ${header.skein_backup}, and this version reads ${FORMAT}`,
    );
  if (!isHeader(header)) throw new DamagedBackup('its header has no schema or no tables');
  if (isEmptyBackup(header))
    throw new Error(
      'the file holds no data: no key and no project. It was made of an empty database',
    );
  return { header, frames };
}

function isHeader(header: Partial<BackupHeader> | null): header is BackupHeader {
  return (
    typeof header?.schema === 'string' &&
    Array.isArray(header.tables) &&
    header.tables.every(
      (table: Partial<TableHeader> | null) =>
        typeof table?.name === 'string' &&
        typeof table.rows === 'number' &&
        Array.isArray(table.columns),
    )
  );
}

/**
 * Copies the rows of a backup into the empty tables of a database with the same schema, in one transaction. If anything
 * is missing, changed or does not fit, nothing is stored; close the connection then. Returns rows and digest of each
 * table.
 * @throws DamagedBackup
 */
export async function restore(
  client: PoolClient,
  { header, frames }: OpenBackup,
  progress: BackupProgress,
): Promise<TableEnd[]> {
  await client.query(`BEGIN;
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = '10s';
    SET LOCAL idle_in_transaction_session_timeout = 0`);
  const tables = await listTables(client);
  assertSameTables(header.tables, tables);
  await lockTables(client, tables);
  await assertEmpty(client, tables);
  await setTriggers(client, tables, 'DISABLE');
  progress.expect(header.tables);
  const ends: TableEnd[] = [];
  for (const table of header.tables) {
    progress.begin(table);
    ends.push(await restoreTable(client, table, frames, progress));
  }
  await assertManifest(frames, ends);
  await setTriggers(client, tables, 'ENABLE');
  await advanceIdentities(client);
  await client.query('COMMIT');
  await client.query('ANALYZE');
  return ends;
}

function assertSameTables(given: readonly TableHeader[], own: readonly StoredTable[]): void {
  const described = (tables: readonly { name: string; columns: string[] }[]) =>
    tables
      .map(({ name, columns }) => `${name}(${columns.toSorted().join()})`)
      .toSorted()
      .join(' ');
  if (described(given) !== described(own))
    throw new DamagedBackup('its tables are not those of the schema that it names');
}

async function lockTables(client: PoolClient, tables: readonly StoredTable[]): Promise<void> {
  const names = tables.map(({ name }) => quoteIdentifier(name));
  await client.query(`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`);
}

/**
 * Switches the triggers. They stay off during the restore, because the backup already contains the rows that they would
 * create.
 */
async function setTriggers(
  client: PoolClient,
  tables: readonly StoredTable[],
  state: 'ENABLE' | 'DISABLE',
) {
  for (const { name } of tables)
    await client.query(`ALTER TABLE ${quoteIdentifier(name)} ${state} TRIGGER USER`);
}

async function restoreTable(
  client: PoolClient,
  table: TableHeader,
  frames: Frames,
  progress: BackupProgress,
): Promise<TableEnd> {
  const rows = client.query(
    copyFrom(`COPY ${quoteIdentifier(table.name)} (${columnList(table)}) FROM STDIN`),
  );
  const stored = finished(rows);
  let refusal: unknown;
  stored.catch((error: unknown) => (refusal = error)); // a later write to the stream fails with another error
  try {
    const sum = createHash('sha256');
    for (;;) {
      const frame = await next(frames, 'D', 'E');
      if (frame.kind === 'E') {
        rows.end();
        await stored;
        const end = { name: table.name, rows: rows.rowCount, sha256: sum.digest('hex') };
        assertEqual(
          parseFrame(frame),
          end,
          `the rows of ${table.name} are not those that were written`,
        );
        return end;
      }
      sum.update(frame.content);
      progress.add(frame.content);
      if (!rows.write(frame.content)) await Promise.race([once(rows, 'drain'), stored]);
    }
  } catch (error) {
    throw asDamage(refusal ?? error, table);
  }
}

/**
 * Converts PostgreSQL's refusal of a row into damage. Classes 22 and 23 are values of a wrong type and broken
 * constraints.
 */
function asDamage(error: unknown, { name }: TableHeader): unknown {
  const { code, message } = error as { code?: string; message: string };
  return /^2[23]/.test(code ?? '')
    ? new DamagedBackup(`the rows of ${name} do not fit: ${message}`)
    : error;
}

async function assertManifest(frames: Frames, tables: TableEnd[]): Promise<void> {
  const frame = await next(frames, 'M');
  const manifest = { tables, sha256: frame.sha256Before() } satisfies BackupManifest;
  assertEqual(parseFrame(frame), manifest, 'the manifest does not match the rows');
  if (!(await frames.next()).done) throw new DamagedBackup('there is data after its end');
}

function assertEqual(given: unknown, own: object, otherwise: string): void {
  if (JSON.stringify(given) !== JSON.stringify(own)) throw new DamagedBackup(otherwise);
}

/** @throws DamagedBackup when the next frame is of another kind, or missing. */
async function next(frames: Frames, ...kinds: Frame['kind'][]) {
  const { value, done } = await frames.next();
  if (done) throw new DamagedBackup('it ends early');
  if (!kinds.includes(value.kind)) throw new DamagedBackup('its parts are not in order');
  return value;
}

/** Sets identity columns to continue after the highest restored number. */
async function advanceIdentities(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(`
    SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND a.attidentity <> ''`);
  for (const { table, column } of rows)
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(${quoteIdentifier(column)}), 0) + 1, false) FROM ${quoteIdentifier(table)}`,
      [quoteIdentifier(table), column],
    );
}

import 'reflect-metadata';
import { parseArgs } from 'node:util';
import type { DataSource } from 'typeorm';
import { addEventBefore, BACKUP_CREATE } from '../../platform/audit/add-event.js';
import { Database } from '../../platform/database/database.js';
import { makeBaseBackup } from './base-backup.js';
import { runCommand, operator, printOutput, printProgress, withDatabase } from './command.js';
import { oneLock, trySessionLock } from '../../platform/database/advisory-locks.js';
import { assertSchemaKnown } from '../../platform/database/schema-state.js';
import { config } from '../../platform/config/process-config.js';
import type { BackupHeader } from '../../platform/backup/backup-file.js';
import { backup } from '../../platform/backup/backup.js';
import type { BackupStorage } from '../../platform/backup/backup-storage.js';
import { locateBackup, storageAt } from '../../platform/backup/storage-location.js';
import { backupName, isDue, prune, storedBackups } from '../../platform/backup/stored-backups.js';
import { storedBases } from '../../platform/backup/wal-archive.js';
import { withClient } from '../../platform/backup/client.js';
import { BackupProgress } from '../../platform/backup/progress.js';
import { logger } from '../../platform/process/logger.js';
import { commandText } from '../../platform/command-text.js';
import { openBackupFile, IDENTITY_OPTION } from './backup-source.js';
import { verify } from './verify-backup.js';

const USAGE = `${commandText('backup', '[--without-audit] FILE')}
${commandText('backup')}
${commandText('backup', '--due')}
${commandText('backup', '--base')}
${commandText('backup', '--list')}
${commandText('backup', '--verify [--identity FILE] [FILE]')}

Writes one snapshot of the whole database into a new file, or into the place that BACKUP_URL names, where it then removes what BACKUP_KEEP
does not name. FILE is a path, s3://bucket/prefix/name, or - for standard output. With BACKUP_RECIPIENT it is encrypted. Works beside a running service.
It first adds an event to the audit; --without-audit is for a database that takes no writes. --due makes one only if the newest there is as old as BACKUP_EVERY.
--base copies the data folder for restore --to-time, as the service does with BACKUP_WAL=1. --list prints them. --verify puts one, or else the newest, into a temporary database on the same server, which it removes, and compares all rows. Where DATA_DIR has no database, the server is temporary too.`;

/** Ensures that only one of several processes makes a backup that is due. */
const DUE = oneLock(7_162_250_374_255_213);

const MIB = 1024 * 1024;
const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;

/** Adds the backup to the audit log. A backup contains everything, so none is made without an event. */
async function auditBackup(database: Database, rows: number): Promise<void> {
  try {
    await addEventBefore(database, { action: BACKUP_CREATE, by: operator(), detail: { rows } });
  } catch (error) {
    const { message, cause } = error as Error;
    const why = (cause as Error).message;
    throw new Error(`${message} (${why}); --without-audit makes a backup all the same`, {
      cause: error,
    });
  }
}

const countRows = ({ tables }: BackupHeader) => tables.reduce((sum, { rows }) => sum + rows, 0);

interface BackupTarget {
  place: BackupStorage;
  name: string;
}

async function backUp(
  dataSource: DataSource,
  target: BackupTarget,
  { signal, withoutAudit = false }: { signal: AbortSignal; withoutAudit?: boolean | undefined },
): Promise<void> {
  const database = new Database(dataSource, config);
  const progress = new BackupProgress('backup');
  const before = withoutAudit
    ? undefined
    : (header: BackupHeader) => auditBackup(database, countRows(header));
  const options = { progress, recipients: config.backupRecipients, signal, before };
  const { header, bytes } = await withClient(dataSource, (client) =>
    backup(client, target, options),
  );
  (target.name === '-' ? printProgress : printOutput)(
    `${target.place.show(target.name)}: ${countRows(header)} rows of ${header.tables.length} tables, ${progress.summary()}, ` +
      `${mib(bytes)} compressed${config.backupRecipients.length > 0 ? ' and encrypted' : ''}, schema ${header.schema}`,
  );
}

function ownStorage(): BackupStorage {
  if (config.backupUrl !== undefined) return storageAt(config.backupUrl, config.s3);
  throw new Error(`there is no FILE, and BACKUP_URL is not set\n\n${USAGE}`);
}

const isOneDue = async () => isDue(await storedBackups(ownStorage()), config.backupEverySeconds);

async function backUpNext(dataSource: DataSource, signal: AbortSignal): Promise<void> {
  const place = ownStorage();
  const name = backupName(new Date(), config.backupRecipients.length > 0);
  await backUp(dataSource, { place, name }, { signal });
  for (const removed of await prune(place, config.backupKeep)) printOutput(`removed ${removed}`);
}

/** Makes a backup unless another process is making it. The lock belongs to the session. */
const backUpWhenDue = (dataSource: DataSource, signal: AbortSignal) =>
  withClient(dataSource, async (client) => {
    const { rows } = await client.query<{ is_mine: boolean }>(trySessionLock(DUE).toQuery());
    if (rows[0]!.is_mine && (await isOneDue())) await backUpNext(dataSource, signal);
  });

async function list(): Promise<void> {
  const place = ownStorage();
  for (const { name, at, bytes } of await storedBackups(place))
    printOutput(`${at.toISOString()}  ${mib(bytes).padStart(12)}  ${place.show(name)}`);
  for (const { name, at, bytes, ended } of await storedBases(place))
    printOutput(
      `${at.toISOString()}  ${mib(bytes).padStart(12)}  ${place.show(name)}  any time from ${ended.toISOString()} on`,
    );
}

async function newest(): Promise<BackupTarget> {
  const place = ownStorage();
  const [backup] = await storedBackups(place);
  if (!backup) throw new Error(`there is no backup in ${config.backupUrl} (BACKUP_URL)`);
  return { place, name: backup.name };
}

function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => interrupted.abort(new Error(`${name}: no backup was made`)));
  return interrupted.signal;
}

/** Makes one backup. An interruption leaves no file behind. */
async function make(
  file: string | undefined,
  { isDueOnly, withoutAudit }: { isDueOnly: boolean; withoutAudit: boolean | undefined },
): Promise<void> {
  const signal = interruption();
  await withDatabase(async (dataSource) => {
    await assertSchemaKnown(dataSource, config);
    if (file) await backUp(dataSource, locateBackup(file, config.s3), { signal, withoutAudit });
    else if (isDueOnly) await backUpWhenDue(dataSource, signal);
    else await backUpNext(dataSource, signal);
  });
}

function parse() {
  try {
    const isFlag = { type: 'boolean' } as const;
    const flags = {
      due: isFlag,
      base: isFlag,
      list: isFlag,
      verify: isFlag,
      'without-audit': isFlag,
    };
    return parseArgs({ allowPositionals: true, options: { ...flags, ...IDENTITY_OPTION } });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${USAGE}`, { cause: error });
  }
}

/** Returns true when a flag does not fit the action: some flags need a FILE, and some forbid it. */
const hasMisplacedFlags = (file: string | undefined, flags: ReturnType<typeof parse>['values']) =>
  (flags.identity !== undefined && !flags.verify) ||
  (file === undefined ? flags['without-audit'] : (flags.due ?? flags.base ?? flags.list));

async function verifyOne(file: string | undefined, identity: string | undefined): Promise<void> {
  const target = file ? locateBackup(file, config.s3) : await newest();
  await verify(await openBackupFile(target, identity), target.place.show(target.name));
}

await runCommand(USAGE, async () => {
  const { values, positionals } = parse();
  const [file, ...others] = positionals;
  const { 'without-audit': withoutAudit, identity, ...actions } = values;
  const isOdd = others.length > 0 || Object.keys(actions).length > 1;
  if (isOdd || hasMisplacedFlags(file, values)) throw new Error(USAGE);
  if (values.list) return list();
  if (values.base) return makeBaseBackup(ownStorage(), interruption());
  if (values.verify) return verifyOne(file, identity);
  if (values.due && !(await isOneDue())) return undefined;
  if (!file) ownStorage();
  if (file === '-') logger.level = 'silent'; // standard output receives the backup
  return make(file, { isDueOnly: values.due ?? false, withoutAudit });
});

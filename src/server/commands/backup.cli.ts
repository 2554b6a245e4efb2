import 'reflect-metadata';
import { stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { addEventBefore, BACKUP_CREATE } from '../../platform/audit/add-event.js';
import { Database } from '../../platform/database/database.js';
import { command, operator, say, withDatabase } from './command.js';
import { oneLock, trySessionLock } from '../../platform/database/advisory-locks.js';
import { assertSchemaKnown } from '../../platform/database/schema-state.js';
import { config } from '../../platform/config/process-config.js';
import type { BackupHeader } from '../../platform/backup/backup-file.js';
import { backup } from '../../platform/backup/backup.js';
import {
  isBackupDue,
  newBackupPath,
  prune,
  storedBackups,
} from '../../platform/backup/backup-folder.js';
import { withClient } from '../../platform/backup/client.js';
import { Progress } from '../../platform/backup/progress.js';
import { typed } from '../../platform/program.js';
import { verify } from './verify-backup.js';

const USAGE = `${typed('backup', '[--without-audit] FILE')}
${typed('backup')}
${typed('backup', '--due')}
${typed('backup', '--list')}
${typed('backup', '--verify [FILE]')}

Writes one snapshot of the whole database into a new file, or into the folder that BACKUP_URL names, where it then removes what BACKUP_KEEP
does not name. Works beside a running service. The audit tells of it first; --without-audit is for a database that takes no writes. --due makes one only if the newest there is as old as BACKUP_EVERY. --list prints
them. --verify puts one, or else the newest, into a temporary database on the same server, which it removes, and compares all rows.`;

/** Of several processes that find a backup due, one makes it. */
const DUE = oneLock(7_162_250_374_255_213);

const MIB = 1024 * 1024;
const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;

/** A backup holds everything, so none is made of which the audit does not tell. */
async function tellAudit(database: Database, rows: number): Promise<void> {
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

async function backUp(
  dataSource: DataSource,
  file: string,
  { signal, withoutAudit = false }: { signal: AbortSignal; withoutAudit?: boolean },
): Promise<void> {
  const database = new Database(dataSource, config);
  const progress = new Progress('backup');
  const before = withoutAudit
    ? undefined
    : (header: BackupHeader) => tellAudit(database, countRows(header));
  const header = await withClient(dataSource, (client) =>
    backup(client, file, { progress, signal, before }),
  );
  const { size } = await stat(file);
  say(
    `${file}: ${countRows(header)} rows of ${header.tables.length} tables, ${progress.summary()}, ` +
      `${mib(size)} compressed, schema ${header.schema}`,
  );
}

function folder(): string {
  if (config.backupFolder) return config.backupFolder;
  throw new Error(`there is no FILE, and BACKUP_URL is not set\n\n${USAGE}`);
}

const isDue = () => isBackupDue(folder(), config.backupEverySeconds);

/** Into the folder of BACKUP_URL. */
async function backUpNext(dataSource: DataSource, signal: AbortSignal): Promise<void> {
  await backUp(dataSource, await newBackupPath(folder(), new Date()), { signal });
  for (const name of await prune(folder(), config.backupKeep)) say(`removed ${name}`);
}

/** Nothing when another process makes it. The lock is that of the session. */
const backUpWhenDue = (dataSource: DataSource, signal: AbortSignal) =>
  withClient(dataSource, async (client) => {
    const { rows } = await client.query<{ is_mine: boolean }>(trySessionLock(DUE).toQuery());
    if (rows[0]!.is_mine && (await isDue())) await backUpNext(dataSource, signal);
  });

async function list(): Promise<void> {
  for (const { name, at, bytes } of await storedBackups(folder()))
    say(`${at.toISOString()}  ${mib(bytes).padStart(12)}  ${join(folder(), name)}`);
}

async function newest(): Promise<string> {
  const [backup] = await storedBackups(folder());
  if (!backup) throw new Error(`there is no backup in ${folder()} (BACKUP_URL)`);
  return join(folder(), backup.name);
}

/** Makes one backup. An interruption leaves nothing of it. */
async function make(
  file: string | undefined,
  { isDueOnly, withoutAudit }: { isDueOnly: boolean; withoutAudit: boolean | undefined },
): Promise<void> {
  const interrupted = new AbortController();
  const { signal } = interrupted;
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => interrupted.abort(new Error(`${name}: no backup was made`)));
  await withDatabase(async (dataSource) => {
    await assertSchemaKnown(dataSource, config);
    if (file) await backUp(dataSource, file, { signal, withoutAudit });
    else if (isDueOnly) await backUpWhenDue(dataSource, signal);
    else await backUpNext(dataSource, signal);
  });
}

function parse() {
  try {
    const isFlag = { type: 'boolean' } as const;
    const options = { due: isFlag, list: isFlag, verify: isFlag, 'without-audit': isFlag };
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${USAGE}`, { cause: error });
  }
}

/** Some flags go with a FILE only, and some without one only. */
const isMeantOtherwise = (file: string | undefined, flags: ReturnType<typeof parse>['values']) =>
  file === undefined ? flags['without-audit'] : (flags.due ?? flags.list);

await command(USAGE, async () => {
  const { values, positionals } = parse();
  const [file, ...others] = positionals;
  const { 'without-audit': withoutAudit, ...actions } = values;
  const isOdd = others.length > 0 || Object.keys(actions).length > 1;
  if (isOdd || isMeantOtherwise(file, values)) throw new Error(USAGE);
  if (values.list) return list();
  if (values.verify) return verify(file ?? (await newest()));
  if (values.due && !(await isDue())) return undefined;
  if (!file) folder();
  return make(file, { isDueOnly: values.due ?? false, withoutAudit });
});

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type { DataSource } from 'typeorm';
import type { Actor } from '../../platform/audit/add-event.js';
import { DamagedBackup } from '../../platform/backup/backup-file.js';
import { InvalidSetting } from '../../platform/config/setting.js';
import { UNLIMITED_SESSION } from '../../platform/database/limits.js';
import { schemaState } from '../../platform/database/schema-state.js';
import { FolderInUse } from '../../platform/postgres/data-dir-lock.js';
import { embeddedPostgresUrl, folderHolder } from '../../platform/postgres/embedded-postgres.js';
import { config } from '../../platform/config/process-config.js';
import { printableLines } from '../../platform/process/printable.js';
import { commandText } from '../../platform/command-text.js';
import { connectDatabase, openPostgres, type PostgresServer } from '../database-connection.js';

/**
 * Runs a command to its end, or prints its usage. An error is printed as one line; an unexpected error with its stack.
 */
export async function runCommand(usage: string, work: () => Promise<void>): Promise<void> {
  // The reader of the output, such as `head`, may end first.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? 0 : 1),
  );
  try {
    if (process.argv.slice(2).some((argument) => /^(--help|-h)$/.test(argument)))
      printOutput(usage);
    else await work();
  } catch (error) {
    printProgress(errorText(error));
    process.exitCode = 1;
  }
}

/** Returns the actor for the audit: the user of the operating system. In a container it may be only a number. */
export function operator(): Actor {
  return { keyId: null, userName: `command line: ${osUser()}` };
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

export const printOutput = (text: string): void =>
  void process.stdout.write(`${printableLines(text)}\n`);

/** Waits until the output has been accepted. Until then it is kept in memory. */
export async function flushOutput(): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
}

export const printProgress = (text: string): void =>
  void process.stderr.write(`${printableLines(text)}\n`);

/** Returns the text of an error. Errors of settings, the embedded database and commands need no stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExplained =
    error.constructor === Error ||
    [InvalidSetting, FolderInUse, DamagedBackup].some((known) => error instanceof known);
  return isExplained ? error.message : error.stack!;
}

/**
 * Runs a command on the configured database: an external one, the embedded one opened for the command, or the embedded
 * one of a running service. It creates a missing database or tables only if the command may. A mistyped setting must
 * not lead to a new, empty database.
 */
export async function withDatabase(
  work: (dataSource: DataSource) => Promise<void>,
  { makes = 'nothing' }: { makes?: 'nothing' | 'tables' | 'database' } = {},
): Promise<void> {
  const mustExist = makes !== 'database';
  await withPostgres({ mustExist }, async (url) => {
    const dataSource = await connectDatabase(url, UNLIMITED_SESSION);
    try {
      if (makes === 'nothing' && !(await schemaState(dataSource)).hasTables) throw noTables();
      await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  });
}

/**
 * Runs a command with the URL of the database, before any connection. No log of a new folder is archived: no process
 * stores it, and the stop would wait for that.
 */
export async function withPostgres(
  options: { mustExist: boolean },
  work: (url: string) => Promise<void>,
): Promise<void> {
  const isNew = !options.mustExist && !existsSync(join(config.dataDir, 'pgdata'));
  const isWalKept = config.isWalKept && !isNew;
  const postgres = await openPostgres({ ...config, isWalKept }, options).catch(reachRunning);
  try {
    await work(postgres.url);
  } finally {
    await postgres.stop();
  }
}

function noTables(): Error {
  const [where, name] = config.databaseUrl
    ? ['the database that DATABASE_URL names', 'DATABASE_URL']
    : [`the database in ${resolve(config.dataDir)} (DATA_DIR)`, 'DATA_DIR'];
  return new Error(
    `${where} has no tables of Skein: set ${name} as for the service; ${commandText('start')} and ${commandText('migrate')} make the tables`,
  );
}

/** Returns the server of the process that has the data folder, because a folder is never opened twice. */
async function reachRunning(error: unknown): Promise<Pick<PostgresServer, 'url' | 'stop'>> {
  if (!(error instanceof FolderInUse)) throw error;
  const url = await embeddedPostgresUrl(config.dataDir);
  if (url) return { url, stop: async () => {} };
  throw new Error(
    `${error.folder} is in use by ${error.who}, and its database cannot be reached from here: ` +
      'run the command where that one runs, or again when it has started',
    { cause: error },
  );
}

/** Matches the command lines that start the service. */
const SERVICE = /main\.js$|skein(\.js)? start$/;

/** Requests the service on DATA_DIR to replace its workers. Returns its process id. */
export function askForReload(): number {
  const pid = config.databaseUrl ? undefined : folderHolder(config.dataDir, SERVICE);
  if (pid === undefined || process.platform === 'win32')
    throw new Error(
      `no service with an embedded database can be seen here on ${resolve(config.dataDir)} (DATA_DIR): ` +
        'send SIGHUP to the process of the service (kill -HUP, docker kill --signal HUP, systemctl reload)',
    );
  process.kill(pid, 'SIGHUP');
  return pid;
}

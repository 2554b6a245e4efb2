import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { unpackBase } from '../../platform/backup/base-backup.js';
import { storageAt } from '../../platform/backup/storage-location.js';
import {
  type StoredBase,
  baseFor,
  storedBases,
  storedWal,
} from '../../platform/backup/wal-archive.js';
import { RESTORE_COMMAND, WalServer } from '../../platform/backup/wal-server.js';
import { config } from '../../platform/config/process-config.js';
import { withConnection } from '../../platform/pg/driver.js';
import { openEmbeddedPostgres } from '../../platform/postgres/embedded-postgres.js';
import { commandText } from '../../platform/command-text.js';
import { printOutput, printProgress } from './command.js';

/** Prefix of drafts. If this process is killed, the next start removes them. */
const DRAFT = 'pgdata.new-';
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Restores the embedded database to a time, or to the end of the stored WAL, into a new DATA_DIR. The folder gets its
 * final name when it is complete.
 */
export async function restoreToTime(text: string, identity: string | undefined): Promise<void> {
  const time = text === 'latest' ? text : parsedTime(text);
  const { dataDir, backupUrl, s3 } = config;
  if (config.databaseUrl)
    throw new Error(
      '--to-time is for the embedded PostgreSQL: unset DATABASE_URL, and set DATA_DIR',
    );
  if (backupUrl === undefined)
    throw new Error('--to-time needs BACKUP_URL, where the WAL was stored');
  const target = join(resolve(dataDir), 'pgdata');
  if (existsSync(target))
    throw new Error(
      `there is a database in ${resolve(dataDir)} already: set DATA_DIR to a new folder`,
    );
  const place = storageAt(backupUrl, s3);
  const bases = await storedBases(place);
  const base = baseFor(bases, time);
  if (!base) throw new Error(noBase(bases, backupUrl));
  printProgress(`from ${place.show(base.name)}`);
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const draft = mkdtempSync(join(resolve(dataDir), DRAFT));
  try {
    chmodSync(draft, 0o711); // the account that PostgreSQL runs as must pass through
    const pgdata = join(draft, 'pgdata');
    mkdirSync(pgdata, { mode: 0o700 });
    await unpackBase(place.read(base.name), identity, pgdata);
    writeFileSync(join(pgdata, 'recovery.signal'), '', { mode: 0o600 });
    const files = await storedWal(place, base.system);
    const wal = new WalServer(pgdata, { place, system: base.system, identity, files });
    mkdirSync(join(pgdata, 'pg_wal'), { recursive: true, mode: 0o700 });
    await wal.fetch(base.segment, join(pgdata, 'pg_wal', base.segment));
    const last = await replayWal(draft, wal, text);
    renameSync(pgdata, target);
    printOutput(
      `restored ${resolve(dataDir)} as it was at ${text}: its last transaction is of ${last}`,
    );
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function parsedTime(text: string): Date {
  const time = new Date(text);
  if (!TIME.test(text) || Number.isNaN(time.getTime()))
    throw new Error(
      `--to-time must be a time with its zone, such as 2026-11-24T10:00:00Z, or latest, got "${text}"`,
    );
  return time;
}

function noBase(bases: readonly StoredBase[], backupUrl: string): string {
  const oldest = bases.at(-1);
  return oldest
    ? `the oldest state that can be restored is of ${oldest.ended.toISOString()}`
    : `there is no copy of a data folder in ${backupUrl} (BACKUP_URL): the service makes them with BACKUP_WAL=1. ` +
        `${commandText('restore', 'FILE')} restores a backup`;
}

/** Replays the WAL on the folder. Returns the time of the last transaction. */
async function replayWal(folder: string, wal: WalServer, time: string): Promise<string> {
  const lines: string[] = [];
  const failing = new AbortController();
  wal.start((error) => failing.abort(error));
  const flag = (name: string, value: string) => ['-c', `${name}=${value}`];
  try {
    const postgres = await openEmbeddedPostgres({
      dataDir: folder,
      flags: [
        ...config.postgresFlags,
        ...flag('restore_command', RESTORE_COMMAND),
        ...(time === 'latest'
          ? []
          : flag('recovery_target_time', time.replace('T', ' ').replace('Z', '+00:00'))),
        ...flag('recovery_target_action', 'promote'),
        // it accepts connections once everything is replayed
        ...flag('hot_standby', 'off'),
        // the service stores the history file of the new timeline
        ...flag('archive_mode', 'on'),
        ...flag('archive_command', ''),
      ],
      log: (line) => lines.push(line),
      signal: failing.signal,
    });
    try {
      return await lastTransaction(postgres.url);
    } finally {
      await postgres.stop();
    }
  } catch (error) {
    failing.signal.throwIfAborted();
    throw new Error(recoveryFailure(lines, error as Error), { cause: error });
  } finally {
    await wal.stop();
  }
}

function lastTransaction(url: string): Promise<string> {
  return withConnection(url, async (client) => {
    const { rows } = await client.query<{ at: Date | null }>(
      'SELECT pg_last_xact_replay_timestamp() AS at',
    );
    return rows[0]!.at?.toISOString() ?? 'the time of the copy';
  });
}

/** Explains an incomplete recovery in one line, from PostgreSQL's messages. */
function recoveryFailure(lines: readonly string[], error: Error): string {
  const all = lines.join('\n');
  const last = /last completed transaction was at log time ([^\n]+)/.exec(all)?.[1];
  if (/recovery ended before configured recovery target/.test(all))
    return `the stored WAL ends before that time${last ? `, with a transaction of ${last}` : ''}: --to-time latest brings back all of it`;
  if (/before consistent recovery point/.test(all))
    return 'the copy of the data folder was not finished at that time, and there is none before it: name a later time';
  return /FATAL: +([^\n]+)/.exec(error.message)?.[1] ?? error.message;
}

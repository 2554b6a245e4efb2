import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { withClient } from '../../platform/backup/client.js';
import { storageAt } from '../../platform/backup/storage-location.js';
import { storedBackups } from '../../platform/backup/stored-backups.js';
import { storedBases } from '../../platform/backup/wal-archive.js';
import { commandText } from '../../platform/command-text.js';
import { config } from '../../platform/config/process-config.js';
import { isDistributed } from '../../platform/database/distribute.js';
import {
  changedTables,
  overwriteLog,
  type Remain,
  rewriteTables,
} from '../../platform/erasing/remains.js';
import { printOutput, printProgress, runCommand, withDatabase } from './command.js';

const USAGE = `${commandText('erased')}
${commandText('erased', '--remove')}

Says where the bytes of erased rows may still be: in the files of tables, in the log of PostgreSQL (pg_wal), and in BACKUP_URL.
--remove writes the tables anew and overwrites the log: erase first. Each table is locked meanwhile, and needs room for a copy of itself.
It removes no backup. It ends with 1 when something is left that it should have removed.`;

/** Copies that no command can look into. */
const ELSEWHERE =
  'not looked at: backups by name, replicas and their logs, snapshots of disks, and blocks that the file system has freed';

/** Returns the backups that were made before now. Each holds what was erased after it. */
async function backupRemains(): Promise<Remain[]> {
  const { backupUrl, s3 } = config;
  if (backupUrl === undefined) return [];
  const place = storageAt(backupUrl, s3);
  const remains: Remain[] = [];
  for (const [kind, stored, option] of [
    ['backups', await storedBackups(place), []],
    ['bases and their log', await storedBases(place), ['--base']],
  ] as const) {
    const oldest = stored.at(-1);
    if (oldest)
      remains.push({
        where: `${stored.length} ${kind} in ${backupUrl}, the oldest of ${oldest.at.toISOString()}`,
        why: `each holds what was erased after it; BACKUP_KEEP=daily=1,weekly=0,monthly=0 ${commandText('backup', ...option)} makes a new one and removes them`,
      });
  }
  return remains;
}

const print = (remains: readonly Remain[]) => {
  for (const { where, why } of remains) printOutput(`left: ${where}: ${why}`);
};

function parse(): boolean {
  try {
    return parseArgs({ options: { remove: { type: 'boolean' } } }).values.remove ?? false;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${USAGE}`, { cause: error });
  }
}

await runCommand(USAGE, async () => {
  const isRemoving = parse();
  const backups = await backupRemains();
  await withDatabase(async (dataSource) => {
    if (isRemoving) {
      const remains = await withClient(dataSource, async (client) => [
        ...(await rewriteTables(client, (table) => printProgress(`wrote ${table} anew`))),
        ...(await overwriteLog(client)),
      ]);
      if (remains.length > 0) process.exitCode = 1;
      if (await isDistributed(dataSource))
        remains.push({
          where: 'pg_wal of the other nodes of the cluster',
          why: 'only the log of this node was overwritten',
        });
      print(remains);
    } else {
      const tables = await withClient(dataSource, changedTables);
      if (tables.length > 0)
        print([
          {
            where: `the files of ${tables.length} tables (${tables.slice(0, 5).join(', ')}${tables.length > 5 ? ' …' : ''})`,
            why: `rows were erased or changed there; ${commandText('erased', '--remove')} writes them anew`,
          },
        ]);
      print([
        {
          where: 'pg_wal',
          why: `the log keeps rows for some checkpoints and longer; ${commandText('erased', '--remove')} overwrites it`,
        },
      ]);
    }
  });
  print(backups);
  printOutput(ELSEWHERE);
});

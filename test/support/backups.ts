import { basename, dirname } from 'node:path';
import type { PoolClient } from 'pg';
import { backup } from '../../src/platform/backup/backup.js';
import { FolderStorage } from '../../src/platform/backup/folder-storage.js';
import type { BackupProgress } from '../../src/platform/backup/progress.js';
import { openBackup } from '../../src/platform/backup/restore.js';

/** Writes a backup into a file and returns its header. */
export async function backUp(
  client: PoolClient,
  path: string,
  options: { progress: BackupProgress; signal?: AbortSignal },
) {
  const target = { place: new FolderStorage(dirname(path)), name: basename(path) };
  return (await backup(client, target, { recipients: [], ...options })).header;
}

export const openFile = (path: string) =>
  openBackup(new FolderStorage(dirname(path)).read(basename(path)), undefined);

import { basename, dirname } from 'node:path';
import type { PoolClient } from 'pg';
import { backup } from '../../src/platform/backup/backup.js';
import { FolderPlace } from '../../src/platform/backup/folder-place.js';
import type { Progress } from '../../src/platform/backup/progress.js';
import { openBackup } from '../../src/platform/backup/restore.js';

/** Writes a backup into a file; answers its header. */
export async function backUp(
  client: PoolClient,
  path: string,
  options: { progress: Progress; signal?: AbortSignal },
) {
  const target = { place: new FolderPlace(dirname(path)), name: basename(path) };
  return (await backup(client, target, { recipients: [], ...options })).header;
}

export const openFile = (path: string) =>
  openBackup(new FolderPlace(dirname(path)).read(basename(path)), undefined);

import { readFile } from 'node:fs/promises';
import type { BackupStorage } from '../../platform/backup/backup-storage.js';
import { type OpenBackup, openBackup } from '../../platform/backup/restore.js';
import { config } from '../../platform/config/process-config.js';

export const IDENTITY_OPTION = { identity: { type: 'string' } } as const;

/** Returns the identities for encrypted backups: from the file of the option, or else from the setting. */
export async function readIdentity(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return config.backupIdentity;
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new Error(`--identity: ${file} cannot be read: ${error.message}`, { cause: error });
  });
}

export const openBackupFile = async (
  { place, name }: { place: BackupStorage; name: string },
  identityFile: string | undefined,
): Promise<OpenBackup> => openBackup(place.read(name), await readIdentity(identityFile));

import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { S3Settings } from '../config/backup-settings.js';
import { FolderStorage } from './folder-storage.js';
import type { BackupStorage } from './backup-storage.js';
import { S3Storage } from './s3-storage.js';
import { StandardStreams } from './standard-streams.js';

export function storageAt(url: string, s3: S3Settings): BackupStorage {
  if (url.startsWith('s3://')) return new S3Storage(url, s3);
  return new FolderStorage(fileURLToPath(url));
}

/**
 * Returns storage and name of a file that a user gives: a path, `file:///…`, `s3://bucket/…`, or `-` for standard
 * streams.
 */
export function locateBackup(text: string, s3: S3Settings): { place: BackupStorage; name: string } {
  if (text === '-') return { place: new StandardStreams(), name: text };
  if (text.startsWith('s3://')) {
    const [, folder, name] = /^(s3:\/\/[^/]+(?:\/.+)?)\/([^/]+)$/.exec(text) ?? [];
    if (!folder) throw new Error(`${text} names no object: write s3://bucket/prefix/name.skein`);
    return { place: new S3Storage(folder, s3), name: name! };
  }
  const path = text.startsWith('file://') ? fileURLToPath(text) : text;
  return { place: new FolderStorage(dirname(path)), name: basename(path) };
}

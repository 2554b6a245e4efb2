import { once } from 'node:events';
import type { ByteStream, BackupStorage } from './backup-storage.js';

/** Writes a backup to standard output, or reads it from standard input: `-` as the name of a file. */
export class StandardStreams implements BackupStorage {
  show(): string {
    return 'the standard stream';
  }

  list = async (): Promise<never[]> => [];
  has = async (): Promise<boolean> => false;
  remove = async (): Promise<void> => {};
  removeDrafts = async (): Promise<never[]> => [];

  async write(_: string, bytes: ByteStream, signal?: AbortSignal): Promise<number> {
    if (process.stdout.isTTY)
      throw new Error('standard output is a terminal: pass the backup to a file or a program');
    let written = 0;
    const failed = once(process.stdout, 'error').then(([error]) => {
      throw new Error(`the reader of standard output has closed it: ${(error as Error).message}`, {
        cause: error,
      });
    });
    failed.catch(() => {});
    for await (const piece of bytes) {
      signal?.throwIfAborted();
      written += piece.length;
      if (!process.stdout.write(piece)) await Promise.race([once(process.stdout, 'drain'), failed]);
    }
    return written;
  }

  read(): ByteStream {
    return process.stdin;
  }
}

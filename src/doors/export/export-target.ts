import { posix } from 'node:path';
import type { BackupStorage, ByteStream } from '../../platform/backup/backup-storage.js';

/** The folder or bucket did not take, list or remove a file. */
export class TargetFailure extends Error {
  /** Says what has failed, without a name of the server or the bucket. */
  readonly reason: string;

  constructor(cause: unknown) {
    super((cause as Error).message, { cause });
    this.reason = plainReason(cause);
  }
}

/** The folder or bucket of `EXPORT_URL`. A file appears under its path when it is complete. */
export class ExportTarget {
  constructor(
    private readonly storage: BackupStorage,
    private readonly signal: AbortSignal,
  ) {}

  /** Returns the number of bytes. Drafts of killed processes are removed before. */
  async write(path: string, bytes: ByteStream): Promise<number> {
    await this.removeDrafts(path);
    return this.aim(() => this.storage.write(path, bytes, this.signal));
  }

  async remove(path: string): Promise<void> {
    await this.removeDrafts(path);
    await this.aim(() => this.storage.remove(path));
  }

  private async removeDrafts(path: string): Promise<void> {
    const folder = posix.dirname(path);
    const draft = `${posix.basename(path)}.partial-`;
    for (const { name } of await this.aim(() => this.storage.list(folder)))
      if (name.startsWith(draft)) await this.aim(() => this.storage.remove(`${folder}/${name}`));
  }

  private async aim<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw new TargetFailure(error);
    }
  }
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const REFUSED = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EISDIR'];

function plainReason(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause) ({ cause } = cause);
  const { code = '', status = 0 } = (cause ?? {}) as { code?: string; status?: number };
  if (FULL.includes(code)) return 'the target is full';
  const isRefusal = REFUSED.includes(code) || (status >= 400 && status < 500);
  return isRefusal ? 'the target refuses to store files' : 'the target cannot be reached';
}

import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ByteStream, BackupStorage, StoredFile } from './backup-storage.js';

/** Drafts of interrupted writers. A running writer changes its draft all the time. */
const DRAFT = /^skein-.+\.partial-\d+$/;
const DRAFT_AGE_MS = 86_400_000;

/**
 * Stores backups in a folder, possibly of another machine. A file appears under its name when it is complete and
 * flushed.
 */
export class FolderStorage implements BackupStorage {
  constructor(private readonly folder: string) {}

  show(name: string): string {
    return join(this.folder, name);
  }

  async list(folder = ''): Promise<StoredFile[]> {
    const path = join(this.folder, folder);
    const entries = await readdir(path, { withFileTypes: true }).catch(noneWhenAbsent<never[]>([]));
    const files = entries.filter((entry) => entry.isFile());
    const stored = files.map(async ({ name }) => {
      const found = await stat(join(path, name)).catch(noneWhenAbsent(undefined));
      return found && { name, bytes: found.size, changed: found.mtime };
    });
    return (await Promise.all(stored)).filter((file) => file !== undefined);
  }

  async has(name: string): Promise<boolean> {
    return (await stat(this.show(name)).catch(noneWhenAbsent(undefined))) !== undefined;
  }

  async write(name: string, bytes: ByteStream, signal?: AbortSignal): Promise<number> {
    const file = this.show(name);
    const draft = `${file}.partial-${process.pid}`;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await rm(draft, { force: true }); // left by a killed process with the same id
    try {
      const output = await open(draft, 'wx', 0o600); // a stream opens its file late: after a cleanup has removed it
      await pipeline(Readable.from(bytes), output.createWriteStream({ flush: true }), { signal });
      const { size } = await stat(draft);
      await rename(draft, file);
      await flushFolder(dirname(file));
      return size;
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async *read(name: string): ByteStream {
    const file = this.show(name);
    try {
      yield* createReadStream(file) as AsyncIterable<Buffer>;
    } catch (error) {
      throw new Error(`cannot read ${file}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Also removes the folders of the file that are empty then. */
  async remove(name: string): Promise<void> {
    await rm(this.show(name), { force: true });
    for (let folder = dirname(name); folder !== '.'; folder = dirname(folder))
      if (
        !(await rmdir(this.show(folder)).then(
          () => true,
          () => false,
        ))
      )
        return;
  }

  async removeDrafts(): Promise<string[]> {
    const removed = (await this.list()).filter(
      ({ name, changed }) => DRAFT.test(name) && Date.now() - changed.getTime() > DRAFT_AGE_MS,
    );
    for (const { name } of removed) await this.remove(basename(name));
    return removed.map(({ name }) => name);
  }
}

const noneWhenAbsent =
  <T>(none: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return none;
    throw error;
  };

/** Makes the rename survive a power failure. Windows cannot flush folders. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

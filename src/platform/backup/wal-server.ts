import {
  createWriteStream,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { decrypted } from './encryption.js';
import { unzipped } from './gzip.js';
import type { BackupStorage, StoredFile } from './backup-storage.js';
import { nextSegment, segmentNumber, walFolder } from './wal-archive.js';

/** Folder in the data folder that is restored. */
const FOLDER = 'skein.wal';
const LOOK_MS = 20;

/**
 * Requests a WAL file from `WalServer` by creating a file, and waits for its answer. It ends with the requesting
 * process, which the shell may outlive.
 */
export const RESTORE_COMMAND = [
  `f=${FOLDER}/%f; : > $f.wanted`,
  `while kill -0 $PPID 2>/dev/null; do [ -e $f.ready ] && exec mv -f $f.ready %p; [ -e $f.absent ] && exit 1; sleep 0.05; done`,
  'exit 1',
].join('; ');

/**
 * Provides WAL to a recovering server: each requested file, and the following segment in advance. Starting a process
 * per file would take longer than reading the file.
 */
export class WalServer {
  private readonly folder: string;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly pgdata: string,
    private readonly source: {
      place: BackupStorage;
      system: string;
      identity: string | undefined;
      files: Map<string, StoredFile>;
    },
  ) {
    this.folder = join(pgdata, FOLDER);
    mkdirSync(this.folder, { mode: 0o700 });
  }

  /** Calls `failed` at most once, with the error that prevents reading the WAL. */
  start(failed: (error: Error) => void): void {
    this.running = this.serve().catch(failed);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** @throws Error when the file is not stored. */
  async fetch(file: string, path: string): Promise<void> {
    const { place, system, identity, files } = this.source;
    const stored = files.get(file);
    if (!stored) throw new Error(`the WAL file ${file} is not in ${place.show(walFolder(system))}`);
    const bytes = place.read(`${walFolder(system)}/${stored.name}`);
    await pipeline(
      Readable.from(unzipped(decrypted(bytes, identity))),
      createWriteStream(path, { mode: 0o600 }),
    );
    const { uid, gid } = statSync(this.pgdata);
    if (process.getuid?.() === 0) chownSync(path, uid, gid);
  }

  private async serve(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      for (const name of readdirSync(this.folder)) {
        if (!name.endsWith('.wanted')) continue;
        const file = name.slice(0, -'.wanted'.length);
        rmSync(join(this.folder, name));
        await this.provide(file);
        if (segmentNumber(file) !== undefined && this.source.files.has(nextSegment(file)))
          await this.provide(nextSegment(file));
      }
      await delay(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Provides a file. Its final name appears when it is complete. */
  private async provide(file: string): Promise<void> {
    const path = join(this.folder, file);
    if (!this.source.files.has(file)) return writeFileSync(`${path}.absent`, '');
    if (readdirSync(this.folder).includes(`${file}.ready`)) return undefined;
    await this.fetch(file, `${path}.part`);
    renameSync(`${path}.part`, `${path}.ready`);
    return undefined;
  }
}

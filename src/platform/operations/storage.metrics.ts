import { statfs } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.js';
import { Probe } from '../database/probe.js';
import { showNumbers } from '../process/metrics.js';

/** PostgreSQL looks at each file of the database to tell its size, so it is asked no more often. */
const SIZE_EVERY_MS = 60_000;

/** How much room there is on the disk of `DATA_DIR`, and how much the database takes. */
@Injectable()
export class StorageMetrics {
  private size: { askedMs: number; bytes: Record<string, number> } | undefined;

  constructor(
    @Inject(CONFIG) { dataDir }: Config,
    private readonly probe: Probe,
  ) {
    showNumbers(
      'skein_disk_bytes',
      'The disk of DATA_DIR: what is free for the service, and its size.',
      { label: 'what', aggregator: 'max' },
      () => diskBytes(dataDir),
    );
    showNumbers(
      'skein_database_bytes',
      'The database, with its indexes: its size, as of the last minute.',
      { label: 'what', aggregator: 'max' },
      () => this.databaseBytes(),
    );
  }

  private async databaseBytes(): Promise<Record<string, number>> {
    if (this.size && performance.now() - this.size.askedMs < SIZE_EVERY_MS) return this.size.bytes;
    try {
      const [row] = await this.probe.query<{ bytes: string }[]>(
        'SELECT pg_database_size(current_database()) AS bytes',
      );
      this.size = { askedMs: performance.now(), bytes: { size: Number(row!.bytes) } };
      return this.size.bytes;
    } catch {
      return {}; // skein_ready tells that the database is away
    }
  }
}

/** Nothing where the folder is not there: an external database needs none. */
async function diskBytes(folder: string): Promise<Record<string, number>> {
  try {
    const { blocks, bavail, bsize } = await statfs(folder);
    return { free: bavail * bsize, size: blocks * bsize };
  } catch {
    return {};
  }
}

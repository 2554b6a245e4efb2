import { Injectable } from '@nestjs/common';
import { Probe } from '../database/probe.js';
import { registerGauge, registerLabelledGauge } from '../process/metrics.js';
import { DISK_WATCH } from './disk-watch.metrics.js';

/**
 * Shortest interval of the query. PostgreSQL inspects each file of the database to find its size (1 TB has over 1,000
 * files).
 */
const ASK_EVERY_MS = 30_000;

interface StorageNumbers {
  bytes: number | null;
  /** Rows of the tables of marks, as PostgreSQL estimates them. */
  marks: Record<string, number>;
}

const UNKNOWN: StorageNumbers = { bytes: null, marks: {} };

/**
 * Reports the room on the disk of the embedded database, the size of the database, and the marks of outdated
 * statistics. The disk of an external database is unknown, because PostgreSQL does not tell its room.
 */
@Injectable()
export class StorageMetrics {
  private askedMs = -Infinity;
  private found = Promise.resolve(UNKNOWN);

  constructor(private readonly probe: Probe) {
    const aggregator = 'max'; // all workers report the same values
    const show = (name: string, help: string, read: () => Promise<number | null>) =>
      registerGauge(name, help, read, aggregator);
    show(
      'skein_disk_free_bytes',
      'Room on the disk of the embedded database.',
      async () => (await DISK_WATCH.ask())?.freeBytes ?? null,
    );
    show(
      'skein_disk_size_bytes',
      'Size of the disk of the embedded database.',
      async () => (await DISK_WATCH.ask())?.sizeBytes ?? null,
    );
    show(
      'skein_database_size_bytes',
      'Size of the database.',
      async () => (await this.ask()).bytes,
    );
    registerLabelledGauge(
      'skein_marks',
      'Changes that stored statistics do not include yet (an estimate), by table of marks.',
      { label: 'table', aggregator },
      async () => (await this.ask()).marks,
    );
  }

  /** Returns unknown numbers while the database cannot be reached; `skein_ready` reports that. */
  private ask(): Promise<StorageNumbers> {
    if (performance.now() - this.askedMs < ASK_EVERY_MS) return this.found;
    this.askedMs = performance.now();
    return (this.found = this.find());
  }

  private async find(): Promise<StorageNumbers> {
    try {
      const [row] = await this.probe.query<
        { bytes: string; marks: StorageNumbers['marks'] | null }[]
      >(
        `SELECT pg_database_size(current_database()) AS bytes,
           (SELECT json_object_agg(relname, n_live_tup) FROM pg_stat_user_tables
            WHERE schemaname = current_schema() AND relname LIKE '%\\_marks') AS marks`,
      );
      return { bytes: Number(row!.bytes), marks: row!.marks ?? {} };
    } catch {
      this.askedMs = -Infinity; // retried at the next scrape
      return UNKNOWN;
    }
  }
}

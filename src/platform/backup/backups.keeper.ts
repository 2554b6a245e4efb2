import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.js';
import { Schedule } from '../database/schedule.js';
import { logger } from '../process/logger.js';
import { registerLabelledGauge } from '../process/metrics.js';
import { runBackup } from './run-backup.js';
import { storageAt } from './storage-location.js';
import { WAL_PROGRESS, type WalProgress } from './wal-keeper.js';
import { isDue, type StoredBackup, storedBackups } from './stored-backups.js';

const noNumbers: Record<string, number> = {};
/** Interval of the check for a due backup. Other processes check too, and one of them makes it. */
const LOOK_MS = 60_000;

/**
 * Makes a backup in `BACKUP_URL` when the newest is older than `BACKUP_EVERY`. The command makes it, in its own
 * process.
 */
@Injectable()
export class BackupsKeeper implements OnApplicationBootstrap {
  constructor(
    private readonly schedule: Schedule,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    const { backupUrl, backupEverySeconds, s3 } = this.config;
    const place = backupUrl === undefined ? undefined : storageAt(backupUrl, s3);
    let newest: StoredBackup | undefined;
    const kinds = { label: 'kind', aggregator: 'max' } as const;
    const ofWal = async (name: string, number: (wal: WalProgress) => number) => {
      const wal = await WAL_PROGRESS.ask();
      return wal ? { [name]: number(wal) } : {};
    };
    registerLabelledGauge(
      'skein_backup_timestamp_seconds',
      'Time when the newest backup in BACKUP_URL was started, and with BACKUP_WAL the newest base; 0 when there is none.',
      kinds,
      async () => ({
        ...(place && { newest: (newest?.at.getTime() ?? 0) / 1000 }),
        ...(await ofWal('base', ({ baseAt }) => baseAt)),
      }),
    );
    registerLabelledGauge(
      'skein_backup_bytes',
      'Size of the newest backup in BACKUP_URL.',
      kinds,
      () => (place ? { newest: newest?.bytes ?? 0 } : noNumbers),
    );
    registerLabelledGauge(
      'skein_backup_wal_waiting_seconds',
      'With BACKUP_WAL, how long the oldest finished WAL segment has waited to be stored in BACKUP_URL.',
      kinds,
      () => ofWal('oldest', ({ waitingSeconds }) => waitingSeconds),
    );
    if (!place) return;
    const look = async () => {
      const stored = await storedBackups(place);
      newest = stored[0];
      return isDue(stored, backupEverySeconds);
    };
    this.schedule.every(Math.min(LOOK_MS, backupEverySeconds * 500), 'backup', async () => {
      if (!(await look())) return;
      await runBackup('--due', this.schedule.signal);
      logger.info({ work: 'backup' }, 'a backup was due, and one of the processes has made it');
      await look();
    });
  }
}

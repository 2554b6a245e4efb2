import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.js';
import { Schedule } from '../database/schedule.js';
import { logger } from '../process/logger.js';
import { showNumbers } from '../process/metrics.js';
import { placeAt } from './place.js';
import { isDue, type StoredBackup, storedBackups } from './stored-backups.js';

/** How often it looks whether one is due; processes beside this one do too, and one of them makes it. */
const LOOK_MS = 60_000;
const COMMAND = fileURLToPath(new URL('../../server/commands/backup.cli.js', import.meta.url));

/** Makes backups in `BACKUP_URL` when the newest is as old as `BACKUP_EVERY`. The command does it: it has a process of its own. */
@Injectable()
export class BackupsKeeper implements OnApplicationBootstrap {
  constructor(
    private readonly schedule: Schedule,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    const { backupUrl, backupEverySeconds, s3 } = this.config;
    if (backupUrl === undefined) return;
    const place = placeAt(backupUrl, s3);
    let newest: StoredBackup | undefined;
    const show = (name: string, help: string, number: (backup: StoredBackup) => number) =>
      showNumbers(name, help, { label: 'kind', aggregator: 'max' }, () => ({
        newest: newest ? number(newest) : 0,
      }));
    show(
      'skein_backup_timestamp_seconds',
      'When the newest backup in BACKUP_URL was begun; 0 when none was seen.',
      ({ at }) => at.getTime() / 1000,
    );
    show('skein_backup_bytes', 'Size of the newest backup in BACKUP_URL.', ({ bytes }) => bytes);
    const look = async () => {
      const stored = await storedBackups(place);
      newest = stored[0];
      return isDue(stored, backupEverySeconds);
    };
    this.schedule.every(Math.min(LOOK_MS, backupEverySeconds * 500), 'backup', async () => {
      if (!(await look())) return;
      await this.backUp();
      await look();
    });
  }

  /** @throws Error with what the command said */
  private async backUp(): Promise<void> {
    const child = spawn(process.execPath, [COMMAND, '--due'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      signal: this.schedule.signal,
      killSignal: 'SIGTERM', // it removes what it has begun
    });
    let failed = '';
    child.stderr.on('data', (text) => (failed = `${failed}${String(text)}`.slice(-2000)));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(failed.trim().split('\n').at(-1) || `it ended with ${code}`);
    logger.info({ work: 'backup' }, 'a backup was due: one of the processes has made it');
  }
}

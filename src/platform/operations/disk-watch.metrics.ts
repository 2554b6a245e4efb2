import { Injectable } from '@nestjs/common';
import { PrimaryQuestion } from '../process/primary-question.js';
import { type ScheduleProgress, Schedule } from '../database/schedule.js';

interface WatchedDisk extends ScheduleProgress {
  sizeBytes: number;
  freeBytes: number;
}

/** Progress of the disk watch, and the room on the disk, in the process that opened the database. */
export const DISK_WATCH = new PrimaryQuestion<WatchedDisk | null>('disk watch');
DISK_WATCH.answer(() => null); // until the embedded PostgreSQL is open

/**
 * Shows the disk watch of the embedded PostgreSQL among the background tasks. Workers get its progress from the
 * primary.
 */
@Injectable()
export class DiskWatchMetrics {
  constructor(schedule: Schedule) {
    schedule.showOther('disk of PostgreSQL', async () => (await DISK_WATCH.ask()) ?? null);
  }
}

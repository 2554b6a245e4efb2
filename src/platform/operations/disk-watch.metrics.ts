import { Injectable } from '@nestjs/common';
import { PrimaryQuestion } from '../process/primary-question.js';
import { type ScheduleProgress, Schedule } from '../database/schedule.js';

/** Progress of the disk watch, in the process that opened the database. */
export const DISK_WATCH = new PrimaryQuestion<ScheduleProgress | null>('disk watch');
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

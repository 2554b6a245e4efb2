import { Injectable } from '@nestjs/common';
import { PrimaryQuestion } from '../process/primary-question.js';
import { type ScheduleProgress, Schedule } from '../database/schedule.js';

/** What the process that opened the database is asked: how far its watch over the disk is. */
export const DISK_WATCH = new PrimaryQuestion<ScheduleProgress | null>('disk watch');
DISK_WATCH.answer(() => null); // until the embedded PostgreSQL is open

/** Shows the watch over the disk of the embedded PostgreSQL among the background tasks; workers have theirs of the primary. */
@Injectable()
export class DiskWatchMetrics {
  constructor(schedule: Schedule) {
    schedule.showOther('disk of PostgreSQL', async () => (await DISK_WATCH.ask()) ?? null);
  }
}

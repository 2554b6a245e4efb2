import { Injectable } from '@nestjs/common';
import { answer, ask } from '../process/primary.js';
import { type Progress, Schedule } from '../database/schedule.js';

/** What the process that opened the database is asked: how far its watch over the disk is. */
export const DISK_WATCH = 'disk watch';
answer(DISK_WATCH, () => null); // until the embedded PostgreSQL is open

/** Shows the watch over the disk of the embedded PostgreSQL among the background tasks; workers have theirs of the primary. */
@Injectable()
export class DiskWatchMetrics {
  constructor(schedule: Schedule) {
    schedule.showOther('disk of PostgreSQL', () => ask<Progress | null>(DISK_WATCH));
  }
}

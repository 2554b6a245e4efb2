import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { MarksRefresher } from '../database/marks-refresher.js';
import { Schedule } from '../database/schedule.js';
import { MARKED_THREADS, refreshQuery } from './threads.query.js';

/** Keeps the marks of threads few. */
@Injectable()
export class ThreadsRefresher extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_THREADS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [done] = await this.database.query<{ taken: number }>(refreshQuery(projectId, limit));
    return done!.taken;
  }
}

import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { MarksRefresher } from '../../platform/database/marks-refresher.js';
import { Schedule } from '../../platform/database/schedule.js';
import { MARKED_THREADS, marksTake, threadsDelete, threadsStore } from './threads.query.js';

/**
 * Refreshes marked threads. Later statements see more commits, so the marks are deleted first: a thread that changes
 * meanwhile gets a new mark.
 */
@Injectable()
export class ThreadsRefresher extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_THREADS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [marks] = await this.database.query(marksTake(projectId, limit));
    const { taken, threads } = marks!;
    if (taken === 0) return 0;
    const stored = await this.database.query(threadsStore(projectId, threads));
    const empty = new Set(threads);
    for (const { thread_id } of stored) empty.delete(thread_id);
    if (empty.size > 0) await this.database.query(threadsDelete(projectId, [...empty]));
    return taken;
  }
}

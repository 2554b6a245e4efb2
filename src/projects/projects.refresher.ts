import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { MarksRefresher } from '../database/marks-refresher.js';
import { Schedule } from '../database/schedule.js';
import { emptyDelete, MARKED_PROJECTS, marksTake } from './projects.query.js';

/** Keeps the marks of projects few. */
@Injectable()
export class ProjectsRefresher extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_PROJECTS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [done] = await this.database.query<{ taken: number }>(marksTake(projectId, limit));
    await this.database.query(emptyDelete(projectId));
    return done!.taken;
  }
}

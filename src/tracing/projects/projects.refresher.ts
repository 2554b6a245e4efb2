import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { MarksRefresher } from '../../platform/database/marks-refresher.js';
import { Schedule } from '../../platform/database/schedule.js';
import { usesAdd } from './quotas/quotas.query.js';
import { today, writtenUses } from './quotas/scope-state.js';
import { emptyDelete, MARKED_PROJECTS, marksTake, projectAdd } from './projects.query.js';

/** Applies the marks of projects, so that few remain. */
@Injectable()
export class ProjectsRefresher extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_PROJECTS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [sums] = await this.database.query(marksTake(projectId, limit));
    if (sums!.taken === 0) return 0;
    await this.database.query(projectAdd(projectId, sums!));
    await this.database.query(emptyDelete(projectId));
    const written = Number(sums!.written_bytes);
    if (written > 0) await this.database.query(usesAdd(today(), writtenUses(projectId, written)));
    return sums!.taken;
  }
}

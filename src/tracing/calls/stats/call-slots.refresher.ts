import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { MarksRefresher } from '../../../platform/database/marks-refresher.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { ProjectsService } from '../../projects/projects.service.js';
import {
  MARKED_SLOTS,
  marksKeep,
  marksTake,
  slotModelsInsert,
  slotsDelete,
  slotsInsert,
} from './call-slots.query.js';

/**
 * Keeps the marks of slots few. Statements see more the later they begin, so the marks go first: what commits meanwhile
 * is counted twice as often as needed, never too seldom.
 */
@Injectable()
export class CallSlotsRefresher extends MarksRefresher {
  constructor(
    database: Database,
    schedule: Schedule,
    private readonly projects: ProjectsService,
  ) {
    super(database, MARKED_SLOTS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const marked = await this.database.query(marksTake(projectId, limit));
    if (marked.length === 0) return 0;
    const open = marked.filter(({ is_open }) => is_open);
    if (open.length > 0) await this.database.query(marksKeep(projectId, open));
    const slots = marked.filter(({ is_open }) => !is_open).map(({ slot }) => slot);
    let bytes = 0n;
    if (slots.length > 0) {
      const gone = await this.database.query(slotsDelete(projectId, slots));
      const made = await this.database.query(slotsInsert(projectId, slots));
      await this.database.query(slotModelsInsert(projectId, slots));
      bytes = sumOf(made, ({ bytes: of }) => of) - sumOf(gone, ({ bytes: of }) => of);
    }
    await this.projects.add(projectId, {
      calls: sumOf(marked, ({ calls }) => calls).toString(),
      bytes: bytes.toString(),
      at: marked.map(({ made_at }) => made_at).reduce((a, b) => (a > b ? a : b)),
    });
    return slots.length;
  }
}

function sumOf<Row>(rows: readonly Row[], of: (row: Row) => string): bigint {
  return rows.reduce((sum, row) => sum + BigInt(of(row)), 0n);
}

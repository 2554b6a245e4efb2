import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { MarksRefresher } from '../../../platform/database/marks-refresher.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { ProjectsService } from '../../projects/projects.service.js';
import {
  MARKED_SLOTS,
  type MarkedSlot,
  marksKeep,
  marksTake,
  namedSlots,
  slotModels,
  slotModelsInsert,
  slotsDelete,
  slotsInsert,
} from './call-slots.query.js';

/**
 * Refreshes marked slots. Later statements see more commits, so the marks are deleted first. A call that is committed
 * meanwhile leaves a new mark: its slot may be computed once more than needed, but never too seldom.
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
    const isMore = await this.markNamed(projectId, marked, new Set(slots));
    let bytes = 0n;
    if (slots.length > 0) {
      const gone = await this.database.query(slotsDelete(projectId, slots));
      const made = await this.database.query(slotsInsert(projectId, slots));
      const models = await this.database.query(slotModels(projectId, slots));
      const rows = models.map(({ row }) => row);
      if (rows.length > 0) await this.database.query(slotModelsInsert(projectId, rows));
      bytes = sumColumn(made, ({ bytes: of }) => of) - sumColumn(gone, ({ bytes: of }) => of);
    }
    await this.projects.add(projectId, {
      calls: sumColumn(marked, ({ calls }) => calls).toString(),
      bytes: bytes.toString(),
      at: marked.map(({ made_at }) => made_at).reduce((a, b) => (a > b ? a : b)),
    });
    return isMore ? MARKED_SLOTS.atOnce : slots.length;
  }

  /**
   * Marks the slots of calls above the changed calls, and of calls with the same response, if the slots are over. Open
   * slots are marked already. Returns true if it marked any.
   */
  private async markNamed(
    projectId: string,
    marked: readonly MarkedSlot[],
    taken: ReadonlySet<string>,
  ): Promise<boolean> {
    const parents = [...new Set(marked.flatMap(({ names }) => names.parents.flat()))];
    const named = marked.flatMap(({ slot, names }) =>
      [...new Set(names.responses.flat())].map((response) => ({ response, slot })),
    );
    const names = {
      parents,
      responses: named.map(({ response }) => response),
      slots: named.map(({ slot }) => slot),
    };
    if (names.parents.length + names.responses.length === 0) return false;
    const found = await this.database.query(namedSlots(projectId, names));
    const more = found.filter(({ slot, is_open }) => !is_open && !taken.has(slot));
    const made_at = marked[0]!.made_at;
    if (more.length > 0)
      await this.database.query(
        marksKeep(
          projectId,
          more.map(({ slot }) => ({ slot, bytes: '0', made_at })),
        ),
      );
    return more.length > 0;
  }
}

function sumColumn<Row>(rows: readonly Row[], of: (row: Row) => string): bigint {
  return rows.reduce((sum, row) => sum + BigInt(of(row)), 0n);
}

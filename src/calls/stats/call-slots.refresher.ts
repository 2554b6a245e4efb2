import { Injectable } from '@nestjs/common';
import { logger } from '../../common/logger.js';
import { Database } from '../../database/database.js';
import { MarksRefresher } from '../../database/marks-refresher.js';
import {
  MARKED_SLOTS,
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
  constructor(database: Database) {
    super(database, MARKED_SLOTS, logger);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [taken] = await this.database.query<{ slots: string[] | null }>(
      marksTake(projectId, limit),
    );
    const { slots } = taken!;
    if (!slots) return 0;
    await this.database.query(slotsDelete(projectId, slots));
    await this.database.query(slotsInsert(projectId, slots));
    await this.database.query(slotModelsInsert(projectId, slots));
    return slots.length;
  }
}

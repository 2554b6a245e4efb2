import { Injectable } from '@nestjs/common';
import { logger } from '../../common/logger.js';
import { Database } from '../../database/database.js';
import { MarksRefresher } from '../../database/marks-refresher.js';
import { ProjectsService } from '../../projects/projects.service.js';
import {
  MARKED_SLOTS,
  marksTake,
  marksThin,
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
    private readonly projects: ProjectsService,
  ) {
    super(database, MARKED_SLOTS, logger);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    await this.database.query(marksThin(projectId));
    const [taken] = await this.database.query<{ slots: string[] | null }>(
      marksTake(projectId, limit),
    );
    const { slots } = taken!;
    if (!slots) return 0;
    const [gone] = await this.database.query<Bytes>(slotsDelete(projectId, slots));
    const [made] = await this.database.query<Bytes>(slotsInsert(projectId, slots));
    await this.database.query(slotModelsInsert(projectId, slots));
    await this.projects.addBytes(projectId, BigInt(made!.bytes) - BigInt(gone!.bytes));
    return slots.length;
  }
}

interface Bytes {
  bytes: string;
}

import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { MarksRefresher } from '../../database/marks-refresher.js';
import { Schedule } from '../../database/schedule.js';
import { ProjectsService } from '../../projects/projects.service.js';
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
  constructor(
    database: Database,
    schedule: Schedule,
    private readonly projects: ProjectsService,
  ) {
    super(database, MARKED_SLOTS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const [taken] = await this.database.query<Taken>(marksTake(projectId, limit));
    const { slots, calls, made_at } = taken!;
    if (made_at === null) return 0;
    let bytes = 0n;
    if (slots.length > 0) {
      const [gone] = await this.database.query<Bytes>(slotsDelete(projectId, slots));
      const [made] = await this.database.query<Bytes>(slotsInsert(projectId, slots));
      await this.database.query(slotModelsInsert(projectId, slots));
      bytes = BigInt(made!.bytes) - BigInt(gone!.bytes);
    }
    await this.projects.add(projectId, { calls, bytes: bytes.toString(), at: made_at });
    return slots.length;
  }
}

interface Taken {
  slots: string[];
  calls: string;
  /** Null when there was no mark to take. */
  made_at: string | null;
}

interface Bytes {
  bytes: string;
}

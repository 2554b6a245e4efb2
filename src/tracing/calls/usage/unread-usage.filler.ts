import { Injectable } from '@nestjs/common';
import { oneLock, tryLock } from '../../../platform/database/advisory-locks.js';
import { Database } from '../../../platform/database/database.js';
import { UnfilledRows } from '../../../platform/database/unfilled-rows.js';
import { ApiError } from '../../../platform/errors.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { isObject } from '../../../platform/json/json-object.js';
import { Pace } from '../../../platform/erasing/pace.js';
import { countsGross, storedUsage } from '../../usage/stored-usage.js';
import { CALLS } from '../call.entity.js';
import { responseIdOf } from '../../conventions/response-id.js';
import {
  type UsageUpdate,
  unreadCalls,
  unreadCount,
  unreadLock,
  unreadProject,
  type UnreadUsageRow,
  usageSet,
} from './unread-usage.query.js';

/** Held by the one replica that reads. */
const USAGE_LOCK = oneLock(0x75736167);
const EVERY_MS = 5000;

/**
 * Reads the usage of calls that an older build has stored, one batch at a time. It may be stopped at any time, because
 * each row shows whether it was read. Until then the call counts no tokens.
 */
@Injectable()
export class UnreadUsageFiller {
  constructor(
    private readonly database: Database,
    private readonly pace: Pace,
    private readonly unfilled: UnfilledRows,
  ) {
    pace.schedule.every(EVERY_MS, 'usage of older calls', () => this.run(), { isEager: true });
  }

  private async run(): Promise<void> {
    const [counted] = await this.database.query(unreadCount(), { long: 'bulk' });
    for (let left = counted!.rows; ;) {
      this.unfilled.set('usage', left);
      if (left <= 0) return;
      const rows = await this.readSome();
      if (rows === 0) return;
      left -= rows;
    }
  }

  /** Reads one batch. Returns its number of rows; 0 also while another process reads. */
  private readSome(): Promise<number> {
    return this.pace.run('', () => this.database.transaction({ long: 'bulk' }, () => this.batch()));
  }

  private async batch(): Promise<number> {
    const [lock] = await this.database.query(tryLock(USAGE_LOCK));
    if (!lock!.is_mine) return 0;
    const [next] = await this.database.query(unreadProject());
    if (!next) return 0;
    const { project_id: projectId } = next;
    const ids = (await this.database.query(unreadCalls(projectId))).map(({ id }) => id);
    const rows = await this.database.query(unreadLock(projectId, ids));
    const documents = new DocumentReader(null);
    const updates: UsageUpdate[] = [];
    for (const row of rows) updates.push(await readUsage(row, documents));
    await this.database.query(usageSet(projectId, updates));
    this.database.changes.note(projectId, CALLS);
    return rows.length;
  }
}

/** Reads the usage of a call. A document that takes too much memory is read as null. */
async function readUsage(
  { id, usage, summary, weave, output }: UnreadUsageRow,
  documents: DocumentReader,
): Promise<UsageUpdate> {
  const parsed = (json: string | null) =>
    documents.read<unknown>(json ?? 'null').catch((error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    });
  const whole = await parsed(summary);
  const stored = storedUsage(isObject(whole) ? whole['usage'] : await parsed(usage));
  return {
    id,
    usage: stored,
    countsGross: countsGross(await parsed(weave)),
    responseId: stored && output?.includes('"id"') ? responseIdOf(await parsed(output)) : null,
  };
}

import { byCodePoint } from '../../../platform/json/by-code-point.js';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { showNumber } from '../../../platform/process/metrics.js';
import { isOutOfMemory, isRowError, isTimeout } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import { GroupCommit } from '../../../platform/database/group-commit.js';
import { type CallWrite, upsertQuery } from './calls.upsert.js';
import { CALLS } from '../call.entity.js';
import { Pace } from '../../../platform/erasing/pace.js';

/**
 * Stores starts and ends: concurrent requests share statements, and what waits is bounded. A write whose call is
 * already in the batch joins it, since one statement may touch a row once.
 */
@Injectable()
export class CallsWriter implements OnApplicationShutdown {
  private readonly group = new GroupCommit<CallWrite>(
    (writes, key) =>
      this.database.runFor(
        () => key,
        () => this.write(writes),
        { tell: () => ({ work: 'writes of calls' }) }, // of many requests
      ),
    // of many, one may wait for a lock, or be too large
    (error) => isRowError(error) || isTimeout(error) || isOutOfMemory(error),
  );

  constructor(
    private readonly database: Database,
    pace: Pace,
  ) {
    pace.yieldTo(() => this.waitingRows);
    showNumber(
      'skein_calls_waiting',
      'Starts and ends of calls that wait for the database.',
      () => this.waitingRows,
    );
  }

  /** Starts and ends of calls that wait for the database. */
  get waitingRows(): number {
    return this.group.waitingRows;
  }

  /** Resolves when the write is committed. @throws Busy when too many wait. */
  async store(write: CallWrite, owner: string): Promise<void> {
    if (this.database.inTransaction) return this.write([write]);
    const place = placeOf(write, owner);
    await this.group.add(write, place.owner, place.bytes);
  }

  /** Stores many, of calls that differ; answers what refused those that were. @throws what would fail all of them. */
  async storeAll(writes: CallWrite[], owner: string): Promise<Map<CallWrite, unknown>> {
    if (this.database.inTransaction) return this.storeInTransaction(writes);
    const refused = new Map<CallWrite, unknown>();
    const outcomes = await this.group.addAll(writes, (write) => placeOf(write, owner));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      if (!isRowError(outcome.reason)) throw outcome.reason;
      refused.set(writes[i]!, outcome.reason);
    }
    return refused;
  }

  /** In the order in which every statement locks, since the locks stay until the transaction ends. */
  private async storeInTransaction(writes: CallWrite[]): Promise<Map<CallWrite, unknown>> {
    const refused = new Map<CallWrite, unknown>();
    const sorted = writes.toSorted((a, b) => byCodePoint(writeKey(a), writeKey(b)));
    for (let from = 0, to = 0; from < sorted.length; from = to) {
      const { projectId } = sorted[from]!;
      while (to < from + ROWS_AT_ONCE && sorted[to]?.projectId === projectId) to++;
      await this.storeOrHalve(sorted.slice(from, to), refused);
    }
    return refused;
  }

  private async storeOrHalve(writes: CallWrite[], refused: Map<CallWrite, unknown>): Promise<void> {
    try {
      await this.database.savepoint(() => this.write(writes));
    } catch (error) {
      if (!isRowError(error)) throw error;
      if (writes.length === 1) {
        refused.set(writes[0]!, error);
        return;
      }
      const half = writes.length >> 1;
      await this.storeOrHalve(writes.slice(0, half), refused);
      await this.storeOrHalve(writes.slice(half), refused);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.group.idle();
  }

  private async write(writes: CallWrite[]): Promise<void> {
    const rows = await this.database.query(
      upsertQuery(writes.length === 1 ? writes : [...mergedByCall(writes).values()]),
    );
    for (const { projectId } of writes) this.database.note(projectId, CALLS);
    if (rows.length === 0) return; // every start named its trace
    const traceIds = new Map(rows.map((row) => [callKey(row.project_id, row.id), row.trace_id]));
    for (const write of writes) write.traceId = traceIds.get(writeKey(write));
  }
}

const ROWS_AT_ONCE = 500;

const placeOf = (write: CallWrite, key: string) => ({
  owner: { key, project: write.projectId },
  bytes: writeLength(write),
});

/** Its weight: the characters of its documents and of its exception. */
const writeLength = ({ start, end }: CallWrite): number => {
  const ofStart = [start?.attributes, start?.inputs, start?.otel_dump];
  const texts = [...ofStart, end?.summary, end?.output, end?.exception];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
};

/** Neither part can hold the separator. */
export const callKey = (projectId: string, id: string) => `${projectId}\n${id}`;

export const writeKey = ({ projectId, id }: CallWrite) => callKey(projectId, id);

/** One write a call, by `keyOf`: later starts and ends replace earlier ones. */
export function mergedByCall(writes: CallWrite[]): Map<string, CallWrite> {
  const merged = new Map<string, CallWrite>();
  for (const write of writes) {
    const key = writeKey(write);
    const earlier = merged.get(key);
    merged.set(key, earlier ? joined(earlier, write) : write);
  }
  return merged;
}

/** The later start and the later end of one call. Spelled out, since to spread an object takes a microsecond. */
export const joined = (earlier: CallWrite, later: CallWrite): CallWrite => ({
  projectId: later.projectId,
  id: later.id,
  start: later.start ?? earlier.start,
  end: later.end ?? earlier.end,
  isOpaque: earlier.isOpaque || later.isOpaque,
  traceId: later.start ? later.traceId : earlier.traceId,
});

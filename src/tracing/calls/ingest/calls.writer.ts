import { compareCodePoints } from '../../../platform/json/code-point-order.js';
import { LRUCache } from 'lru-cache';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { registerGauge } from '../../../platform/process/metrics.js';
import { isOutOfMemory, isRowError, isRowOfCopy, isTimeout } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import { GroupCommit } from '../../../platform/database/group-commit.js';
import { microsecondsOf } from '../../../platform/query/binary-copy.js';
import { copyCalls, isWholeCall, traceOf } from './calls.copy.js';
import { leavingTrace, markOrphans, positionsToRead } from './orphans.js';
import { childrenMark, MAX_MARKED, positionsQuery, type TreePosition } from './orphans.query.js';
import { type CallWrite, upsertQuery } from './calls.upsert.js';
import { CALLS } from '../call.entity.js';
import { CallSources } from '../source/call-sources.service.js';
import { resolveSources, isSourceChanged, takesSource } from '../source/source-resolution.js';
import { Pace } from '../../../platform/erasing/pace.js';
import { QuotasService } from '../../projects/quotas/quotas.service.js';

/**
 * Stores starts and ends. Concurrent requests share statements, and the number of waiting writes is limited. Writes of
 * one call are merged, because one statement may touch a row only once.
 */
@Injectable()
export class CallsWriter implements OnApplicationShutdown {
  private readonly group = new GroupCommit<CallWrite>(
    (writes, key) =>
      this.database.scope.run(
        { owner: () => key, subject: { tell: () => ({ work: 'writes of calls' }) } }, // many requests share it
        () => this.write(writes),
      ),
    // errors that one write of the batch may cause: it waits for a lock, or is too large
    (error) => isRowError(error) || isTimeout(error) || isOutOfMemory(error),
  );

  /** Projects of which a call was already stored when it was copied. */
  private readonly pauses = new LRUCache<string, CopyPause>({ max: MAX_PAUSES });

  /** Projects in which calls of other sources than production were just written. */
  private readonly mixed = new LRUCache<string, true>({ max: MAX_PAUSES, ttl: MIXED_MS });

  constructor(
    private readonly database: Database,
    private readonly sources: CallSources,
    private readonly quotas: QuotasService,
    pace: Pace,
  ) {
    pace.yieldTo(() => this.waitingRows);
    registerGauge(
      'skein_calls_waiting',
      'Starts and ends of calls that wait for the database.',
      () => this.waitingRows,
    );
  }

  get waitingRows(): number {
    return this.group.waitingRows;
  }

  /**
   * Stores a write. Resolves when it is committed.
   * @throws Busy if too many writes wait, ApiError `rate_limited` if the project may start no more calls
   */
  async store(write: CallWrite, owner: string): Promise<void> {
    if (write.start) this.quotas.takeCalls(write.projectId, 1);
    if (this.database.inTransaction) return this.write([write]);
    this.database.outage.assertUnlocked();
    const place = placeOf(write, owner);
    await this.group.add(write, place.owner, place.bytes);
  }

  /**
   * Stores many writes of different calls. Returns the errors of refused writes.
   * @throws errors that affect all writes
   */
  async storeAll(given: CallWrite[], owner: string): Promise<Map<CallWrite, unknown>> {
    const overQuota = this.takeCalls(given);
    const writes = overQuota.size > 0 ? given.filter((write) => !overQuota.has(write)) : given;
    if (this.database.inTransaction)
      return new Map([...overQuota, ...(await this.storeInTransaction(writes))]);
    this.database.outage.assertUnlocked();
    const refused = await this.group.addAll(writes, (write) => placeOf(write, owner));
    for (const error of refused.values()) if (!isRowError(error)) throw error;
    return new Map([...overQuota, ...refused]);
  }

  /**
   * Counts the starts of each project. Returns the refused writes, with the refusal of their project.
   * @throws ApiError `rate_limited` if no write is left
   */
  private takeCalls(writes: readonly CallWrite[]): Map<CallWrite, unknown> {
    const starts = new Map<string, number>();
    for (const { start, projectId } of writes)
      if (start) starts.set(projectId, (starts.get(projectId) ?? 0) + 1);
    const refused = new Map<CallWrite, unknown>();
    let refusal: unknown;
    for (const [projectId, count] of starts)
      try {
        this.quotas.takeCalls(projectId, count);
      } catch (error) {
        refusal = error;
        for (const write of writes)
          if (write.start && write.projectId === projectId) refused.set(write, error);
      }
    if (refusal !== undefined && refused.size === writes.length) throw refusal;
    return refused;
  }

  /**
   * Stores writes in the order in which every statement locks rows, since the locks stay until the transaction ends.
   */
  private async storeInTransaction(writes: CallWrite[]): Promise<Map<CallWrite, unknown>> {
    const refused = new Map<CallWrite, unknown>();
    const sorted = writes.toSorted((a, b) => compareCodePoints(writeKey(a), writeKey(b)));
    for (let from = 0, to = 0; from < sorted.length; from = to) {
      const { projectId } = sorted[from]!;
      while (to < from + ROWS_AT_ONCE && sorted[to]?.projectId === projectId) to++;
      await this.storeOrHalve(sorted.slice(from, to), refused);
    }
    return refused;
  }

  private async storeOrHalve(writes: CallWrite[], refused: Map<CallWrite, unknown>): Promise<void> {
    try {
      await this.database.transaction({ isSavepoint: true }, () => this.write(writes));
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

  /** Stores writes of one project. */
  private async write(writes: CallWrite[]): Promise<void> {
    this.database.outage.assertUnlocked(); // they may have waited
    const merged = [...mergedByCall(writes, ({ id }) => id).values()];
    const bytes = merged.reduce((sum, write) => sum + writeLength(write), 0);
    this.quotas.noteWritten(writes[0]!.projectId, bytes);
    const left = await this.copyNew(merged, bytes);
    const rows = left.length > 0 ? await this.upsert(left) : [];
    this.database.changes.note(writes[0]!.projectId, CALLS);
    if (writes.every(({ start }) => !start || start.trace_id)) return;
    const traceIds = new Map(merged.map((write) => [write.id, traceOf(write)]));
    for (const { id, trace_id } of rows) traceIds.set(id, trace_id);
    for (const write of writes) write.traceId = traceIds.get(write.id);
  }

  private async upsert(writes: CallWrite[]) {
    const stored = await this.findAbove(writes, { areNew: false });
    const rows = await this.database.query(upsertQuery(writes));
    await this.spreadSources(writes, stored);
    const leaving = leavingTrace(writes, stored);
    if (leaving.length > 0) await markChildren(this.database, writes[0]!.projectId, leaving);
    return rows;
  }

  /**
   * Reads parents before their children are stored. A transaction that deletes a parent meanwhile marks the children
   * itself.
   */
  private async findAbove(
    writes: CallWrite[],
    novelty: { areNew: boolean },
  ): Promise<Map<string, TreePosition>> {
    const ids = positionsToRead(writes, novelty);
    const places =
      ids.length > 0 ? await this.database.query(positionsQuery(writes[0]!.projectId, ids)) : [];
    const stored = new Map(places.map((place) => [place.id, place]));
    markOrphans(writes, stored);
    resolveSources(writes, stored);
    if (writes.some(({ start }) => start?.source)) this.mixed.set(writes[0]!.projectId, true);
    return stored;
  }

  /**
   * Passes sources on to calls that were stored earlier. In a project with several sources, a call above may have
   * changed during the write. So it is read again by whichever commits last: this method or `spread`.
   */
  private async spreadSources(
    writes: CallWrite[],
    stored: ReadonlyMap<string, TreePosition>,
  ): Promise<void> {
    const { projectId } = writes[0]!;
    const changed = writes.filter((write) => isSourceChanged(write, stored));
    if (changed.length > 0) await this.sources.spread(projectId, idsOf(changed));
    if (!this.mixed.has(projectId)) return;
    const below = writes.filter(takesSource);
    if (below.length > 0) await this.sources.settle(projectId, idsOf(below));
  }

  /**
   * Copies new calls, which saves PostgreSQL a third of the cost of an upsert. If one of the calls is already stored,
   * which is rare, PostgreSQL refuses the whole copy. Returns the writes that must be upserted.
   */
  private async copyNew(writes: CallWrite[], bytes: number): Promise<CallWrite[]> {
    const { projectId } = writes[0]!;
    if (this.database.inTransaction || this.pauses.get(projectId)?.isOver() === false)
      return writes;
    if (writes.filter(isWholeCall).length < Math.min(FEWEST_COPIED, writes.length)) return writes;
    // in the order in which every statement locks rows
    const sorted = writes.toSorted((a, b) => compareCodePoints(a.id, b.id));
    const stored = await this.findAbove(sorted, { areNew: true });
    const { rows, left } = copyCalls(sorted, bytes);
    if (rows.count === 0) return writes;
    try {
      await this.database.copy(rows);
    } catch (error) {
      if (!isRowOfCopy(error)) throw error;
      this.pauses.set(projectId, new CopyPause(this.pauses.get(projectId)));
      return writes;
    }
    this.pauses.delete(projectId);
    const isLeft = new Set(left);
    await this.spreadSources(
      sorted.filter((write) => !isLeft.has(write)),
      stored,
    );
    return left;
  }
}

/** Marks the children of these calls as orphans, because the calls leave their trace. */
async function markChildren(
  database: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  while ((await database.query(childrenMark(projectId, ids))).length === MAX_MARKED);
}

const ROWS_AT_ONCE = 500;
/** Minimum number of calls to copy if others must be upserted. With fewer, two statements cost more than one. */
const FEWEST_COPIED = 20;
const MAX_PAUSES = 10_000;
/** Longer than any write takes. */
const MIXED_MS = 60_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Time in which calls of a project are upserted instead of copied. It doubles with each failed copy until a copy
 * succeeds.
 */
class CopyPause {
  private readonly ms: number;
  private readonly end: number;

  constructor(before?: CopyPause) {
    this.ms = before ? Math.min(2 * before.ms, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    this.end = performance.now() + this.ms;
  }

  isOver(): boolean {
    return performance.now() >= this.end;
  }
}

const idsOf = (writes: readonly CallWrite[]) => writes.map(({ id }) => id);

const placeOf = (write: CallWrite, key: string) => ({
  owner: { key, project: write.projectId },
  bytes: writeLength(write),
});

/** Weight of a write: the characters of its documents and of its exception. */
const writeLength = ({ start, end }: CallWrite): number => {
  const ofStart = [start?.attributes, start?.inputs, start?.otel_dump];
  const texts = [...ofStart, end?.summary, end?.output, end?.exception];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
};

/** Makes a key. Neither part can contain the separator. */
export const callKey = (projectId: string, id: string) => `${projectId}\n${id}`;

export const writeKey = ({ projectId, id }: CallWrite) => callKey(projectId, id);

/** Merges writes of the same call, keyed by `keyOf`. Later starts and ends replace earlier ones. */
export function mergedByCall(writes: CallWrite[], keyOf = writeKey): Map<string, CallWrite> {
  const merged = new Map<string, CallWrite>();
  for (const write of writes) {
    const key = keyOf(write);
    const earlier = merged.get(key);
    merged.set(key, earlier ? mergeWrites(earlier, write) : write);
  }
  return merged;
}

/**
 * Returns the later start and the later end of one call, by the rules of `upsertQuery`: a write with an older end
 * replaces nothing. Lists all members, because spreading an object takes a microsecond.
 */
export const mergeWrites = (earlier: CallWrite, later: CallWrite): CallWrite => {
  const isOlder = !later.start?.event_times && isOlderEnd(later.end, earlier.end);
  const isStale = Boolean(earlier.start) && (isOlder || isRunningSpan(later, earlier));
  const start = later.start && !isStale ? later : earlier.start ? earlier : later;
  return {
    projectId: later.projectId,
    id: later.id,
    start: start.start,
    end: later.end && !isOlder ? later.end : earlier.end,
    isOpaque: earlier.isOpaque || later.isOpaque,
    traceId: start.traceId,
  };
};

function isOlderEnd(later: CallWrite['end'], earlier: CallWrite['end']): boolean {
  if (!later || !earlier?.ended_at) return false;
  if (!later.ended_at) return true;
  return microseconds(later.ended_at) < microseconds(earlier.ended_at);
}

/** Microseconds since 2000. NaN for a time that only PostgreSQL can read: the later write of the batch then wins. */
const microseconds = (text: string): number =>
  microsecondsOf(text) ?? (Date.parse(text) - Date.UTC(2000)) * 1000;

const isRunningSpan = (later: CallWrite, earlier: CallWrite): boolean =>
  !later.end &&
  Boolean(earlier.end?.ended_at && later.start?.otel_dump && earlier.start?.otel_dump);

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

  /** Projects of which a call was stored already when it was copied. */
  private readonly pauses = new LRUCache<string, CopyPause>({ max: MAX_PAUSES });

  /** Projects in which calls were just written that are not of production. */
  private readonly mixed = new LRUCache<string, true>({ max: MAX_PAUSES, ttl: MIXED_MS });

  constructor(
    private readonly database: Database,
    private readonly sources: CallSources,
    pace: Pace,
  ) {
    pace.yieldTo(() => this.waitingRows);
    registerGauge(
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
    const refused = await this.group.addAll(writes, (write) => placeOf(write, owner));
    for (const error of refused.values()) if (!isRowError(error)) throw error;
    return refused;
  }

  /** In the order in which every statement locks, since the locks stay until the transaction ends. */
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

  /** Writes of one project. */
  private async write(writes: CallWrite[]): Promise<void> {
    const merged = [...mergedByCall(writes, ({ id }) => id).values()];
    const left = await this.copyNew(merged);
    const rows = left.length > 0 ? await this.upsert(left) : [];
    for (const { projectId } of writes) this.database.note(projectId, CALLS);
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

  /** Parents are looked up before their children are stored: one that goes meanwhile marks the children itself. */
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
   * Passes sources on to calls that came before. In a project with several sources what is above a call may have changed while it was
   * written, so it is looked up again: by whoever commits last, this or `spread`.
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
   * Copies the calls that are new, which costs PostgreSQL two thirds of an upsert. Whether they are it finds out: it refuses all of them
   * if one is stored already, which is seldom. Answers the writes that are left.
   */
  private async copyNew(writes: CallWrite[]): Promise<CallWrite[]> {
    const { projectId } = writes[0]!;
    if (this.database.inTransaction || this.pauses.get(projectId)?.isOver() === false)
      return writes;
    if (writes.filter(isWholeCall).length < Math.min(FEWEST_COPIED, writes.length)) return writes;
    // in the order in which every statement locks
    const sorted = writes.toSorted((a, b) => compareCodePoints(a.id, b.id));
    const bytes = sorted.reduce((sum, write) => sum + writeLength(write), 0);
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

/** Marks the calls below others, which go, as orphans. */
async function markChildren(
  database: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  while ((await database.query(childrenMark(projectId, ids))).length === MAX_MARKED);
}

const ROWS_AT_ONCE = 500;
/** So many calls at least are copied when others have to be upserted: below, two statements cost more than one. */
const FEWEST_COPIED = 20;
const MAX_PAUSES = 10_000;
/** Longer than any write takes. */
const MIXED_MS = 60_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** For how long the calls of a project are upserted and not copied: each time twice as long, until a copy succeeds. */
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
 * The later start and the later end of one call, by the rules of `upsertQuery`: what is older by its end replaces nothing. Spelled out,
 * since to spread an object takes a microsecond.
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

/** NaN for a time that only PostgreSQL reads: of two of one batch the later one counts then. */
const microseconds = (text: string): number =>
  microsecondsOf(text) ?? (Date.parse(text) - Date.UTC(2000)) * 1000;

const isRunningSpan = (later: CallWrite, earlier: CallWrite): boolean =>
  !later.end &&
  Boolean(earlier.end?.ended_at && later.start?.otel_dump && earlier.start?.otel_dump);

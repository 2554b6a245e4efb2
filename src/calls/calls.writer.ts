import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { metrics } from '../common/edge.js';
import { isRowError, unavailable } from '../common/errors.js';
import { Database } from '../database/database.js';
import { GroupCommit, QueueFull } from '../database/group-commit.js';
import { upsertQuery } from './calls.upsert.js';

/** The start, the end, or both of one call, as texts that `upsertQuery` takes. */
export interface CallWrite {
  projectId: string;
  id: string;
  start?: string;
  end?: string;
  /** Set when the write is committed. */
  traceId?: string;
}

/**
 * Stores starts and ends: concurrent requests share statements, and what waits is bounded. A write whose call is
 * already in the batch joins it, since one statement may touch a row once.
 */
@Injectable()
export class CallsWriter implements OnApplicationShutdown {
  private readonly group = new GroupCommit<CallWrite>((writes) => this.write(writes), isRowError);

  constructor(private readonly database: Database) {
    metrics.removeSingleMetric(WAITING);
    metrics.registerMetric(this.gauge());
  }

  /** Resolves when the write is committed. @throws ApiError `unavailable` when too many wait. */
  async store(write: CallWrite): Promise<void> {
    if (this.database.inTransaction) return this.write([write]);
    try {
      await this.group.add(write, (write.start?.length ?? 0) + (write.end?.length ?? 0));
    } catch (error) {
      throw error instanceof QueueFull ? unavailable(error.message, error) : error;
    }
  }

  /** Stores many; answers for each what refused it, or undefined. @throws what would fail all of them. */
  async storeAll(writes: CallWrite[]): Promise<unknown[]> {
    if (this.database.inTransaction) {
      for (let i = 0; i < writes.length; i += ROWS_AT_ONCE)
        await this.write(writes.slice(i, i + ROWS_AT_ONCE));
      return [];
    }
    const outcomes = await Promise.allSettled(writes.map((write) => this.store(write)));
    return outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return undefined;
      if (isRowError(outcome.reason)) return outcome.reason as unknown;
      throw outcome.reason;
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.group.idle();
  }

  private async write(writes: CallWrite[]): Promise<void> {
    const merged = mergedByCall(writes);
    const starts = merged.flatMap(({ start }) => start ?? []).join(',');
    const ends = merged.flatMap(({ end }) => end ?? []).join(',');
    const rows = await this.database.query<{ project_id: string; id: string; trace_id: string }>(
      upsertQuery(`[${starts}]`, `[${ends}]`),
    );
    const traceIds = new Map(rows.map((row) => [callKey(row.project_id, row.id), row.trace_id]));
    for (const write of writes) write.traceId = traceIds.get(keyOf(write));
  }

  private gauge() {
    const { group } = this;
    return new Gauge({
      name: WAITING,
      help: 'Starts and ends of calls that wait for the database.',
      registers: [],
      collect() {
        this.set(group.waitingRows);
      },
    });
  }
}

const ROWS_AT_ONCE = 500;

const WAITING = 'skein_calls_waiting';

/** Neither part can hold the separator. */
export const callKey = (projectId: string, id: string) => `${projectId}\n${id}`;

export const keyOf = ({ projectId, id }: CallWrite) => callKey(projectId, id);

/** One write a call: later starts and ends replace earlier ones. */
export function mergedByCall(writes: CallWrite[]): CallWrite[] {
  if (writes.length === 1) return writes;
  const merged = new Map<string, CallWrite>();
  for (const write of writes) {
    const earlier = merged.get(keyOf(write));
    merged.set(keyOf(write), {
      ...write,
      start: write.start ?? earlier?.start,
      end: write.end ?? earlier?.end,
    });
  }
  return [...merged.values()];
}

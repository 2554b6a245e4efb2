import { Injectable } from '@nestjs/common';
import { lock } from '../../../platform/database/advisory-locks.js';
import { Database } from '../../../platform/database/database.js';
import { tracesQuery } from '../read/calls.query.js';
import { threadedTracesQuery, turnRootsQuery } from './turn-roots.query.js';
import { turnChanges } from './turns.js';
import { TURNS, turnsQuery, turnsSet } from './turns.query.js';

/** Maximum number of calls that are read at a time, at 2 µs each. In a larger trace only the root becomes a turn. */
const MAX_TURN_CALLS = 10_000;

/**
 * Sets which spans are turns. Requests store spans in any order. So each request settles the traces that it has
 * changed, after its own commit and under a lock of the project. The last one sees the spans that all of them have
 * stored.
 */
@Injectable()
export class Turns {
  constructor(private readonly database: Database) {}

  /** Settles those of the traces in which a call below another names a thread. */
  async settleNamed(projectId: string, traceIds: readonly string[], owner?: string): Promise<void> {
    if (traceIds.length === 0) return;
    const rows = await this.database.query(threadedTracesQuery(projectId, traceIds), { owner });
    await this.settle(
      projectId,
      rows.map(({ trace_id }) => trace_id),
    );
  }

  /** Settles the traces of deleted calls. */
  async settleOf(projectId: string, ids: readonly string[]): Promise<void> {
    const rows = await this.database.query(tracesQuery(projectId, ids));
    await this.settle(projectId, [...new Set(rows.map(({ trace_id }) => trace_id))]);
  }

  /** Takes the lock of turns. A transaction that locks calls before it settles their traces must take it first. */
  async hold(projectId: string): Promise<void> {
    await this.database.query(lock(TURNS, projectId));
  }

  async settle(projectId: string, traceIds: readonly string[]): Promise<void> {
    if (traceIds.length === 0) return;
    await this.database.transaction({ lock: lock(TURNS, projectId) }, () =>
      this.settleLocked(projectId, traceIds),
    );
  }

  private async settleLocked(projectId: string, traceIds: readonly string[]): Promise<void> {
    const rows = await this.database.query(turnsQuery(projectId, traceIds, MAX_TURN_CALLS + 1));
    if (rows.length <= MAX_TURN_CALLS) {
      const changes = turnChanges(rows);
      if (changes.length > 0) await this.database.query(turnsSet(projectId, changes));
    } else if (traceIds.length === 1)
      await this.database.query(turnRootsQuery(projectId, traceIds));
    else {
      const half = traceIds.length >> 1;
      await this.settleLocked(projectId, traceIds.slice(0, half));
      await this.settleLocked(projectId, traceIds.slice(half));
    }
  }
}

import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { CALLS } from '../call.entity.js';
import {
  MAX_CHANGED,
  type OwnSourceRow,
  unsourcedChildren,
  unsourcedCalls,
  unsourcedOrphans,
  ownSourcesSet,
  inheritedSourcesSet,
} from './call-sources.query.js';

/** Calls that are looked up by one statement, which nobody waits for long. */
const AT_ONCE = 200;
/** A call changes so many times at most: calls that are each other's parents might change for ever. */
const MAX_TIMES = 8;

/** Passes the sources of calls on to the calls below them: docs/adr/0140-sources-of-calls.md. */
@Injectable()
export class CallSources {
  constructor(private readonly database: Database) {}

  /** Finds anew what these calls take from above, and passes it on. */
  async settle(projectId: string, ids: readonly string[]): Promise<void> {
    await this.spread(projectId, await this.takeAll(projectId, ids, unsourcedCalls));
  }

  /** The same for calls that came before their parents, which may be here by now. */
  async settleOrphans(projectId: string, parents: readonly string[]): Promise<void> {
    await this.spread(projectId, await this.takeAll(projectId, parents, unsourcedOrphans));
  }

  /** Notes what calls say, and passes it on. */
  async say(projectId: string, calls: readonly OwnSourceRow[]): Promise<void> {
    await this.database.query(ownSourcesSet(projectId, calls));
    await this.spread(
      projectId,
      calls.map(({ id }) => id),
    );
  }

  /** Passes the sources of these calls on to all below them. */
  async spread(projectId: string, ids: readonly string[]): Promise<void> {
    const times = new Map<string, number>();
    for (let above = ids; above.length > 0;) {
      const changed = await this.takeAll(projectId, above, unsourcedChildren);
      for (const id of changed) times.set(id, (times.get(id) ?? 0) + 1);
      above = changed.filter((id) => times.get(id)! < MAX_TIMES);
    }
  }

  /** Answers the calls that changed. */
  private async takeAll(
    projectId: string,
    ids: readonly string[],
    candidates: typeof unsourcedCalls,
  ): Promise<string[]> {
    const changed: string[] = [];
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      const query = inheritedSourcesSet(
        projectId,
        candidates(projectId, ids.slice(i, i + AT_ONCE)),
      );
      for (let isMore = true; isMore;) {
        const rows = await this.database.query(query);
        for (const { id } of rows) changed.push(id);
        isMore = rows.length === MAX_CHANGED;
      }
    }
    if (changed.length > 0) this.database.note(projectId, CALLS);
    return changed;
  }
}

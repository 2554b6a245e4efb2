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

/** Number of calls in one statement. Keeps statements short. */
const AT_ONCE = 200;
/** Maximum number of changes of one call. Calls that are each other's parents might change forever. */
const MAX_TIMES = 8;

/** Passes the sources of calls on to the calls below them: docs/adr/0140-sources-of-calls.md. */
@Injectable()
export class CallSources {
  constructor(private readonly database: Database) {}

  /** Computes the sources of these calls again from the calls above, and passes them on. */
  async settle(projectId: string, ids: readonly string[]): Promise<void> {
    await this.spread(projectId, await this.takeAll(projectId, ids, unsourcedCalls));
  }

  /** Computes the sources of calls that came before their parents, which may be stored now. Passes them on. */
  async settleOrphans(projectId: string, parents: readonly string[]): Promise<void> {
    await this.spread(projectId, await this.takeAll(projectId, parents, unsourcedOrphans));
  }

  async say(projectId: string, calls: readonly OwnSourceRow[]): Promise<void> {
    await this.database.query(ownSourcesSet(projectId, calls));
    await this.spread(
      projectId,
      calls.map(({ id }) => id),
    );
  }

  async spread(projectId: string, ids: readonly string[]): Promise<void> {
    const times = new Map<string, number>();
    for (let above = ids; above.length > 0;) {
      const changed = await this.takeAll(projectId, above, unsourcedChildren);
      for (const id of changed) times.set(id, (times.get(id) ?? 0) + 1);
      above = changed.filter((id) => times.get(id)! < MAX_TIMES);
    }
  }

  /** Updates the candidates. Returns the calls that changed. */
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
    if (changed.length > 0) this.database.changes.note(projectId, CALLS);
    return changed;
  }
}

import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { CALLS } from '../call.entity.js';
import { CallSources } from '../source/call-sources.service.js';
import {
  foldQuery,
  type FoldedSpanKey,
  forgetFolded,
  hasFoldedQuery,
  unfoldingLock,
  unfoldQuery,
} from './folded-spans.query.js';

export type { FoldedSpanKey };

const EVERY_MS = 60 * 60 * 1000;
/** Time for which a process caches whether a project has folded spans. Another process may fold some meanwhile. */
const BELIEVED_MS = 10_000;
const MAX_PROJECTS = 10_000;

/** Keeps the parents of spans that are not stored, so that calls below them keep their place in the tree. */
@Injectable()
export class FoldedSpans {
  private readonly known = new LRUCache<string, boolean>({ max: MAX_PROJECTS, ttl: BELIEVED_MS });

  constructor(
    private readonly database: Database,
    private readonly sources: CallSources,
    schedule: Schedule,
  ) {
    schedule.every(EVERY_MS, 'folded spans', () => this.forget());
  }

  async fold(projectId: string, spans: readonly FoldedSpanKey[], owner: string): Promise<void> {
    const last = new Map(spans.map((span) => [span.id, span]));
    await this.database.query(foldQuery(projectId, [...last.values()]), { owner });
    this.known.set(projectId, true);
  }

  /** Returns true if calls of the project may be below folded spans. */
  async hasAny(projectId: string, owner: string): Promise<boolean> {
    const known = this.known.get(projectId);
    if (known !== undefined) return known;
    const [row] = await this.database.query(hasFoldedQuery(projectId), { owner });
    this.known.set(projectId, row!.has_folded);
    return row!.has_folded;
  }

  /**
   * Moves calls of the traces from folded spans to the nearest span above that is not folded. Call it when both the
   * calls and the folded spans are committed; either may come from another process.
   */
  async unfold(projectId: string, traceIds: readonly string[]): Promise<void> {
    await this.database.transaction({ lock: unfoldingLock(projectId), long: 'read' }, async () => {
      const changed = await this.database.query(unfoldQuery(projectId, traceIds));
      if (changed.length === 0) return;
      this.database.changes.note(projectId, CALLS);
      await this.sources.settle(
        projectId,
        changed.map(({ id }) => id),
      );
    });
  }

  private async forget(): Promise<void> {
    await this.database.query(forgetFolded, { long: 'bulk', isUrgent: true });
  }
}

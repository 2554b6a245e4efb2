import { Inject, Injectable } from '@nestjs/common';
import { lock, oneLock, tryLock } from '../../../platform/database/advisory-locks.js';
import { Database } from '../../../platform/database/database.js';
import { UnfilledRows } from '../../../platform/database/unfilled-rows.js';
import { Pace } from '../../../platform/erasing/pace.js';
import { CALLS } from '../call.entity.js';
import {
  MAX_MARKED,
  MAX_WALKED,
  missingParents,
  nextWalk,
  orphansClear,
  orphansMark,
  type ParentKey,
  type WalkedCall,
  walkedCalls,
  walkEnd,
  walkMove,
  walksCount,
  walksLeft,
} from './orphans.query.js';
import { ownSource } from '../../conventions/call-source.js';
import { CallSources } from '../source/call-sources.service.js';
import { Turns } from './turns.service.js';
import { TURNS } from './turns.query.js';

/** Held by the one replica that does this work. */
const ORPHANS_LOCK = oneLock(0x6f727068);
const EVERY_MS = 5000;
/** Maximum number of batches of missing parents in one run. A million orphans are checked within ten minutes. */
const MAX_BATCHES = 5;

/** Names in `unfilled_rows` of the two facts that one walk reads from calls of older builds. */
const WALKED_KINDS = ['parents', 'sources'];

const FIRST: ParentKey = { project_id: '', parent_id: '' };

/**
 * Marks the orphans among the calls of older builds, and reads their sources. This walk stores its position and may be
 * stopped at any time. Also removes marks of calls whose parent has arrived. Readers look up the parent of a marked
 * call, so this removal makes reads faster, but changes no result.
 */
@Injectable()
export class OrphansKeeper {
  @Inject(CallSources) private readonly sources!: CallSources;
  private at = FIRST;

  constructor(
    private readonly database: Database,
    private readonly pace: Pace,
    private readonly unfilled: UnfilledRows,
    private readonly turns: Turns,
  ) {
    pace.schedule.every(EVERY_MS, 'parents of calls', () => this.run(), { isEager: true });
  }

  private async run(): Promise<void> {
    const [counted] = await this.database.query(walksCount());
    if (counted!.walks > 0) await this.fill();
    else
      for (const what of WALKED_KINDS) if (what in this.unfilled.counts) this.unfilled.set(what, 0);
    await this.clear();
  }

  private async fill(): Promise<void> {
    const [left] = await this.database.query(walksLeft(), { long: 'bulk' });
    for (let rows = left!.rows; ;) {
      for (const what of WALKED_KINDS) this.unfilled.set(what, rows);
      const looked = await this.batch(() => this.walk());
      if (looked === 0) return;
      rows = Math.max(rows - looked, 0);
    }
  }

  private batch(work: () => Promise<number>): Promise<number> {
    const alone = async () => {
      const [row] = await this.database.query(tryLock(ORPHANS_LOCK));
      return row!.is_mine ? work() : 0;
    };
    return this.pace.run('', () => this.database.transaction({ long: 'bulk' }, alone));
  }

  /** Reads the next calls of older builds. Returns their number, or 0 if no call is left. */
  private async walk(): Promise<number> {
    const [walk] = await this.database.query(nextWalk());
    if (!walk) return 0;
    const { project_id: projectId, before, is_last: isLast } = walk;
    const calls = await this.database.query(walkedCalls(walk));
    const orphans = calls.filter((call) => call.is_orphan);
    if (orphans.length > 0) {
      await this.turns.hold(projectId);
      await this.database.query(
        orphansMark(
          projectId,
          orphans.map(({ id }) => id),
        ),
      );
      const traceIds = new Set(orphans.flatMap(({ trace_id }) => trace_id ?? []));
      await this.turns.settleNamed(projectId, [...traceIds]);
      this.database.changes.note(projectId, CALLS);
    }
    await this.readSources(projectId, calls);
    const isDone = calls.length < MAX_WALKED;
    const to = isDone ? { id: '', started: before } : calls.at(-1)!;
    await this.database.query(isDone && isLast ? walkEnd(projectId) : walkMove(projectId, to));
    return Math.max(calls.length, 1);
  }

  /** Reads the sources of calls of older builds from their attributes. */
  private async readSources(projectId: string, calls: readonly WalkedCall[]): Promise<void> {
    const said = calls.flatMap(({ id, op_name: opName, parent_id, attributes }) => {
      const isTop = parent_id === null;
      const source = ownSource({ opName, isTop, attributes: Object.entries(attributes ?? {}) });
      return source ? [{ id, source }] : [];
    });
    if (said.length > 0) await this.sources.say(projectId, said);
  }

  /** Removes marks of calls whose parent has arrived. Goes on where the last run ended. */
  private async clear(): Promise<void> {
    for (let batches = 0; batches < MAX_BATCHES; batches++) {
      const parents = await this.database.query(missingParents(this.at), { long: 'bulk' });
      const byProject = new Map<string, string[]>();
      for (const { project_id, parent_id } of parents)
        byProject.set(project_id, [...(byProject.get(project_id) ?? []), parent_id]);
      for (const [projectId, ids] of byProject) {
        await this.sources.settleOrphans(projectId, ids);
        while (
          (await this.batch(() =>
            this.database.transaction({ lock: lock(TURNS, projectId) }, async () => {
              const cleared = await this.database.query(orphansClear(projectId, ids));
              return cleared.length;
            }),
          )) === MAX_MARKED
        );
      }
      this.at = parents.length < MAX_WALKED ? FIRST : parents.at(-1)!;
      if (this.at === FIRST) return;
    }
  }
}

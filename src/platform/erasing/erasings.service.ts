import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { type AuditAction, addEvent, auditAction } from '../audit/add-event.js';
import { anyHoldOf, wholeHoldOf } from '../audit/legal-holds.js';
import type { Caller } from '../auth/caller.js';
import { ownerEntity } from '../process/fair-queue.js';
import { ApiError } from '../errors.js';
import { logger } from '../process/logger.js';
import { registerCounter } from '../process/metrics.js';
import { lock } from '../database/advisory-locks.js';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';
import type { ErasedDto } from './erasings.dto.js';
import { Erasing } from './erasing.entity.js';
import {
  type RowCounts,
  endedErasingsDelete,
  type ErasingKey,
  erasingLock,
  type ErasingRow,
  leftErasings,
  openErasings,
  OPENING,
} from './erasings.query.js';
import { Pace } from './pace.js';

const ERASING_END = auditAction('erasing.end');

/** The kind of the erasing of a whole project. */
export const PROJECT_KIND = 'project';

/** Longest wait for an answer. The erasing continues after it. */
const ANSWER_AFTER_MS = 5000;
/** Most erasings of an entity that have not ended. */
const MAX_OPEN = 100;
const NOW = () => 'statement_timestamp()';
const IN_A_MINUTE = () => "statement_timestamp() + interval '1 minute'";

/** Interval of the search for erasings whose process died. */
const TAKE_OVER_EVERY_MS = 5000;

/** The result of a batch, and the start of the next one. Null when nothing is left. */
export interface ErasingStep {
  cursor: object | null;
  counts: RowCounts;
}

export interface NewErasing {
  projectId: string;
  kind: string;
  request: object;
  targets?: string[] | null;
  event: { action: AuditAction; target?: string; detail?: object };
}

/**
 * Erases in small batches, each a short transaction. An erasing is a row with the data to erase and a cursor. Each
 * batch locks the row, does one step of its kind, and moves the cursor in the same transaction. Nothing is lost or done
 * twice when the process dies, and any process that finds the row continues.
 */
@Injectable()
export class ErasingsService {
  private readonly steps = new Map<string, (erasing: ErasingRow) => Promise<ErasingStep>>();
  private readonly listeners: ((counts: RowCounts) => void)[] = [];
  /** Ids of erasings that this process works on. */
  private readonly underWay = new Set<string>();
  /** Failures since the last search for left erasings. */
  private readonly failures: unknown[] = [];
  private readonly erased = registerCounter(
    'skein_erased_rows_total',
    'Rows erased for good, by kind of row and kind of erasing.',
    ['what', 'by'],
  );

  constructor(
    private readonly database: Database,
    private readonly pace: Pace,
    schedule: Schedule,
  ) {
    schedule.every(TAKE_OVER_EVERY_MS, 'erasings', () => this.takeOver());
  }

  private get rows() {
    return this.database.repository(Erasing);
  }

  /** Registers the step of a kind: it erases one batch, in the transaction of its caller. */
  register(kind: string, step: (erasing: ErasingRow) => Promise<ErasingStep>): void {
    if (this.steps.has(kind)) throw new Error(`two features erase what is called ${kind}`);
    this.steps.set(kind, step);
  }

  onErased(listener: (counts: RowCounts) => void): void {
    this.listeners.push(listener);
  }

  /** Counts erased rows, for the listeners and for `/metrics`. */
  count(by: 'request' | 'retention', counts: RowCounts): void {
    for (const listener of this.listeners) listener(counts);
    for (const [what, rows] of Object.entries(counts)) this.erased.inc({ what, by }, rows);
  }

  /**
   * Stores the data to erase and the caller. It erases nothing yet.
   * @throws ApiError `rate_limited` when the entity has too many erasings that have not ended
   */
  async begin(
    { projectId, kind, request, targets = null, event }: NewErasing,
    by: Caller,
  ): Promise<string> {
    const id = uuidv7();
    await this.database.transaction(async () => {
      await this.assertRoom(ownerEntity(projectId));
      const { keyId, userName } = by;
      await this.rows.insert({ projectId, id, kind, request, targets, keyId, userName });
      const detail = { erasing_id: id, ...event.detail };
      await addEvent(this.database, { ...event, by, projectId, detail });
    });
    return id;
  }

  private async assertRoom(entity: string): Promise<void> {
    await this.database.query(lock(OPENING, entity));
    const [open] = await this.database.query(openErasings(entity));
    if (open!.count >= MAX_OPEN)
      throw new ApiError(
        'rate_limited',
        `${entity} has ${open!.count} erasings that have not ended, and may have ${MAX_OPEN}`,
        { headers: { 'Retry-After': '10' } },
      );
  }

  /**
   * Stores an erasing with `begin`, which returns its id. Then erases for some seconds, and returns the progress; the
   * rest continues in the background. All of it works while the disk is nearly full.
   */
  run(projectId: string, begin: () => Promise<string>): Promise<ErasedDto> {
    return this.database.scope.run({ isUrgent: true }, async () => {
      await this.pace.makeRoom();
      return this.erase(projectId, await begin());
    });
  }

  private async erase(projectId: string, id: string): Promise<ErasedDto> {
    const keyId = this.database.scope.owner.split('/')[1] ?? '';
    const work = this.finish({ project_id: projectId, id, key_id: keyId });
    await Promise.race([work, sleep(ANSWER_AFTER_MS, undefined, { ref: false })]);
    work.catch(() => {}); // it is taken over later
    const { counts, endedAt } = await this.rows.findOneOrFail({
      select: { counts: true, endedAt: true },
      where: { projectId, id },
    });
    return { erasing_id: id, is_done: endedAt !== null, num_erased: counts };
  }

  /**
   * Continues erasings that no process works on, and deletes those that ended a day ago. It does not wait for their
   * ends: one entity's erasings must not delay those of another.
   * @throws the error of the first erasing that has failed since the last time
   */
  private takeOver(): Promise<void> {
    return this.database.scope.run({ isUrgent: true }, async () => {
      for (const left of await this.database.query(leftErasings()))
        if (!this.underWay.has(left.id)) void this.goOn(left);
      await this.database.transaction(() => this.database.query(endedErasingsDelete()));
      const failures = this.failures.splice(0);
      if (failures.length > 0) throw failures[0];
    });
  }

  /** Erases to the end, or until the process ends. After a failure it is tried again later. */
  private async goOn(erasing: ErasingKey): Promise<void> {
    const { project_id: projectId, id } = erasing;
    try {
      await this.finish(erasing);
    } catch (error) {
      if (this.pace.signal.aborted) return;
      this.failures.push(error);
      logger.warn({ erasing_id: id, err: error }, 'an erasing has failed and is tried again');
      const putOff = () => this.rows.update({ projectId, id }, { touchedAt: IN_A_MINUTE });
      await this.database.transaction(putOff).catch(() => {});
    }
  }

  private async finish({ project_id: projectId, id, key_id }: ErasingKey): Promise<void> {
    const owner = `${ownerEntity(projectId)}/${key_id}`;
    this.underWay.add(id);
    try {
      while (!(await this.batch(owner, projectId, id)));
    } finally {
      this.underWay.delete(id);
    }
  }

  /** Returns true when the erasing has ended, or is put off. */
  private async batch(owner: string, projectId: string, id: string): Promise<boolean> {
    const done = await this.pace.run(owner, () =>
      this.database.transaction({ long: 'write' }, () => this.step(projectId, id)),
    );
    if (done) this.count('request', done.counts);
    return !done?.cursor;
  }

  private async step(projectId: string, id: string): Promise<ErasingStep | null> {
    const [erasing] = await this.database.query(erasingLock(projectId, id));
    if (!erasing || (await this.isPutOff(erasing))) return null;
    const step = this.steps.get(erasing.kind);
    if (!step) throw new Error(`this version knows no erasing of the kind ${erasing.kind}`);
    const done = await step(erasing);
    const counts = addCounts(erasing.counts, done.counts);
    const { cursor } = done;
    if (cursor) await this.rows.update({ projectId, id }, { cursor, counts, touchedAt: NOW });
    else await this.end(erasing, counts);
    return done;
  }

  /** A legal hold of the project puts off an erasing that has begun. Any hold puts off that of the project. */
  private async isPutOff({ project_id: projectId, id, kind }: ErasingRow): Promise<boolean> {
    const holdOf = kind === PROJECT_KIND ? anyHoldOf : wholeHoldOf;
    const isHeld = (await holdOf(this.database, projectId)) !== undefined;
    if (isHeld) await this.rows.update({ projectId, id }, { touchedAt: IN_A_MINUTE });
    return isHeld;
  }

  private async end(erasing: ErasingRow, counts: RowCounts): Promise<void> {
    const { project_id: projectId, id, key_id, user_name } = erasing;
    const gone = { request: null, targets: null, cursor: null };
    await this.rows.update({ projectId, id }, { ...gone, counts, touchedAt: NOW, endedAt: NOW });
    const by = { keyId: key_id, userName: user_name };
    const detail = { num_erased: counts };
    await addEvent(this.database, { action: ERASING_END, by, projectId, target: id, detail });
  }
}

export function addCounts(one: RowCounts, other: RowCounts): RowCounts {
  const sum = { ...one };
  for (const [what, rows] of Object.entries(other))
    if (rows > 0) sum[what] = (sum[what] ?? 0) + rows;
  return sum;
}

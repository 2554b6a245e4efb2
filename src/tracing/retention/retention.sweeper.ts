import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  type ErasingCursor,
  type CallCursor,
  CallsErasingService,
  FIRST_CALLS,
} from '../calls/erasing/calls-erasing.service.js';
import { partHoldsOf, wholeHoldOf } from '../../platform/audit/legal-holds.js';
import { logger } from '../../platform/process/logger.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { oneLock, tryLock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import type { RowCounts } from '../../platform/erasing/erasings.query.js';
import { ErasingsService, addCounts } from '../../platform/erasing/erasings.service.js';
import { Pace } from '../../platform/erasing/pace.js';
import { FEEDBACK } from '../feedback/feedback.entity.js';
import { olderFeedbackErase } from '../feedback-erasing.query.js';
import { isHeldFeedback } from '../held-parts.query.js';
import { ownerEntity } from '../../platform/process/fair-queue.js';
import { RetentionClockService } from './retention-clock.service.js';
import { RetentionPolicy } from './retention-policy.entity.js';
import {
  defaultsDelete,
  defaultsInsert,
  defaultsUpdate,
  type DuePolicy,
  duePolicies,
  walksRestart,
} from './retention.query.js';

/** Held for each batch, so that one replica erases at a time. */
const SWEEP = oneLock(125_779_852_814_702);

/** Far less than a day, which is what a jump of the clock is told by. Sweeps may be a day apart. */
const LOOK_EVERY_MS = 600_000;

/** Returned when another process is sweeping, or the project has a legal hold. */
const TAKEN = Symbol('taken');

/**
 * Erases data that is older than its retention, batch by batch. It also erases ends of calls whose starts never
 * arrived. Every process runs a sweeper, but only one of them erases at a time.
 */
@Injectable()
export class RetentionSweeper implements OnApplicationBootstrap {
  @Inject(CONFIG) private readonly config!: Config;
  @Inject() private readonly clock!: RetentionClockService;

  constructor(
    private readonly database: Database,
    private readonly calls: CallsErasingService,
    private readonly erasings: ErasingsService,
    private readonly pace: Pace,
  ) {}

  onApplicationBootstrap(): void {
    const everyMs = this.config.retentionIntervalSeconds * 1000;
    const { schedule } = this.pace;
    const sweepNow = schedule.every(everyMs, 'retention', () => this.sweep());
    schedule.every(LOOK_EVERY_MS, 'clock of retention', async () => {
      if (await this.lookAtClock()) sweepNow();
    });
  }

  private lookAtClock(): Promise<string | null> {
    return this.database.scope.run({ isUrgent: true }, () => this.clock.look());
  }

  /**
   * Applies every policy once.
   * @throws Error while the database's clock has jumped ahead; no policy is applied then
   */
  private async sweep(): Promise<void> {
    const wait = await this.lookAtClock();
    if (wait) throw new Error(wait);
    return this.database.scope.run({ isUrgent: true }, () => this.applyAll());
  }

  private async applyAll(): Promise<void> {
    await this.applyDefault();
    await this.database.transaction(() => this.database.query(walksRestart()));
    const due = await this.database.query(duePolicies());
    const lines = new Map<string, Promise<void>>();
    for (const policy of due) {
      const entity = ownerEntity(policy.project_id);
      const before = lines.get(entity) ?? Promise.resolve();
      lines.set(
        entity,
        before.then(() => this.applyOne(policy)),
      );
    }
    const ends = await Promise.allSettled(lines.values());
    const failure = ends.find(({ status }) => status === 'rejected');
    if (failure) throw (failure as PromiseRejectedResult).reason;
    await this.forgetStartless();
  }

  /** Projects without a policy of their own have a stored one, which holds the cursor of its walk. */
  private async applyDefault(): Promise<void> {
    const { retentionDefault } = this.config;
    const statements = retentionDefault
      ? [defaultsUpdate(retentionDefault), defaultsInsert(retentionDefault)]
      : [defaultsDelete()];
    for (const statement of statements)
      await this.database.transaction(() => this.database.query(statement));
  }

  private async applyOne(policy: DuePolicy): Promise<void> {
    const started = performance.now();
    const erased = await this.apply(policy);
    if (Object.keys(erased).length === 0) return;
    logger.info(
      {
        project_id: policy.project_id,
        erased,
        duration_ms: Math.round(performance.now() - started),
      },
      'retention has erased what a project no longer keeps',
    );
  }

  /** Applies a policy. Returns the number of erased rows by kind. */
  private async apply(policy: DuePolicy): Promise<RowCounts> {
    const { project_id, calls_before, payloads_before, feedback_before, payload_cursor } = policy;
    let erased: RowCounts = {};
    const add = (counts: RowCounts) => {
      this.erasings.count('retention', counts);
      erased = addCounts(erased, counts);
    };
    if (calls_before) await this.eraseCalls(project_id, calls_before, add);
    if (feedback_before) await this.eraseFeedback(project_id, feedback_before, add);
    if (payloads_before) await this.erasePayloads(project_id, payloads_before, payload_cursor, add);
    return erased;
  }

  private async eraseCalls(
    projectId: string,
    before: string,
    add: (counts: RowCounts) => void,
  ): Promise<void> {
    for (let cursor: ErasingCursor | null = FIRST_CALLS; cursor;) {
      const at: ErasingCursor = cursor;
      const done = await this.batch(projectId, () => this.calls.eraseBefore(projectId, before, at));
      if (done === TAKEN) return;
      add(done.counts);
      cursor = done.cursor;
    }
  }

  private eraseFeedback(
    projectId: string,
    before: string,
    add: (counts: RowCounts) => void,
  ): Promise<void> {
    const step = async () => {
      const holds = await partHoldsOf(this.database, projectId);
      const query = olderFeedbackErase(projectId, before, isHeldFeedback(projectId, holds));
      const erased = await this.database.query(query);
      if (erased.length > 0) this.database.changes.note(projectId, FEEDBACK);
      return erased.length;
    };
    return this.untilNone(projectId, step, (feedback) => add({ feedback }));
  }

  private async erasePayloads(
    projectId: string,
    before: string,
    cursor: CallCursor | null,
    add: (counts: RowCounts) => void,
  ): Promise<void> {
    for (let after = cursor; ;) {
      const at = after;
      const done = await this.batch(projectId, () => this.walk(projectId, before, at));
      if (done === TAKEN || !done.after) return;
      add({ payloads: done.payloads });
      after = done.after;
    }
  }

  /**
   * Erases ends, names and log records whose call has not started, independently of policies. They may have arrived
   * after an erasing.
   */
  private async forgetStartless(): Promise<void> {
    await this.untilNone('', () => this.calls.noteStartless());
    await this.untilNone(
      '',
      () => this.calls.eraseStartless(),
      (calls) => this.erasings.count('retention', { calls_without_start: calls }),
    );
  }

  private async untilNone(
    projectId: string,
    step: () => Promise<number>,
    then = (_rows: number) => {},
  ): Promise<void> {
    for (;;) {
      const rows = await this.batch(projectId, step);
      if (rows === TAKEN || rows === 0) return;
      then(rows);
    }
  }

  private async walk(projectId: string, before: string, after: CallCursor | null) {
    const done = await this.calls.erasePayloads(projectId, before, after);
    if (done.after)
      await this.database
        .repository(RetentionPolicy)
        .update({ projectId }, { payloadCursor: done.after });
    return done;
  }

  private batch<T>(projectId: string, work: () => Promise<T>): Promise<T | typeof TAKEN> {
    const alone = async () => {
      const [row] = await this.database.query(tryLock(SWEEP));
      if (!row!.is_mine) return TAKEN;
      const isHeld =
        projectId !== '' && (await wholeHoldOf(this.database, projectId)) !== undefined;
      return isHeld ? TAKEN : work();
    };
    return this.pace.run(`${ownerEntity(projectId)}/retention`, () =>
      this.database.transaction({ long: 'bulk' }, alone),
    );
  }
}

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../errors.js';
import { FairQueue, perKeyRule, Shares } from '../process/fair-queue.js';
import { PrimaryQuestion } from '../process/primary-question.js';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';
import { sql } from '../query/sql.js';

/** Amount that may be erased on the disk of the embedded database. */
export const ROOM_TO_ERASE = new PrimaryQuestion<'free' | 'in steps' | 'impossible'>(
  'room to erase',
);
/** Notifies the disk watch that rows were erased and vacuumed, so that new rows fit into the files. */
export const ROOM_IN_FILES = new PrimaryQuestion<void>('room in files');

/** Longest wait for others. Then one more batch runs. */
const MAX_YIELD_MS = 1000;
const LOOK_MS = 20;
/** Time for which the milliseconds of a batch count against its owner. */
const REMEMBERED_MS = 60_000;

/**
 * Sets the pace of background work: one batch at a time per process. Then it rests as long as the batch took, so it
 * uses at most half of one connection. It rests longer while writes wait. The next batch is of the entity, and then of
 * the key, whose batches took the least time in the last minute.
 */
@Injectable()
export class Pace implements OnModuleDestroy {
  private isBusy = false;
  /** Milliseconds that batches took lately, as the number of items of their owners. */
  private readonly taken = new Shares(perKeyRule(Infinity));
  private readonly line = new FairQueue({
    take: () => !this.isBusy && (this.isBusy = true),
    held: this.taken,
    refusal: () => new Error('batches wait without a limit'),
  });
  /** Ends with the running batch and its rest. */
  private lane: Promise<void> = Promise.resolve();
  private readonly queues: (() => number)[] = [];

  constructor(
    private readonly database: Database,
    readonly schedule: Schedule,
  ) {
    setMaxListeners(0, schedule.signal); // each waiting batch listens
  }

  /** Aborted when the process ends. */
  get signal(): AbortSignal {
    return this.schedule.signal;
  }

  /** Adds a queue to yield to. `waiting` returns the number of waiting writes. */
  yieldTo(waiting: () => number): void {
    this.queues.push(waiting);
  }

  /** Runs a batch when it is the turn of its owner: `<entity>/<key>`, as in `Shares`. */
  async run<T>(owner: string, batch: () => Promise<T>): Promise<T> {
    await this.line.enter(owner, undefined, { signal: this.signal });
    const started = performance.now();
    const work = this.makeRoom().then(batch);
    this.lane = work.catch(() => {}).then(() => this.endTurn(owner, performance.now() - started));
    return work;
  }

  private async endTurn(owner: string, ms: number): Promise<void> {
    const count = Math.ceil(ms);
    this.taken.add(owner, 0, count);
    setTimeout(() => this.taken.give(owner, 0, count), REMEMBERED_MS).unref();
    await this.rest(ms);
    this.isBusy = false;
    this.line.wake();
  }

  /**
   * Waits for a checkpoint before each batch on a nearly full disk of the embedded database. A batch writes WAL as fast
   * as the disk accepts it, and only a checkpoint makes the WAL shorter.
   * @throws ApiError when the disk has no room even for a checkpoint
   */
  async makeRoom(): Promise<void> {
    const erasing = await ROOM_TO_ERASE.ask();
    if (erasing === 'impossible')
      throw unavailable(
        'the disk of the database is full: it needs room before anything is erased',
      );
    if (erasing === 'in steps') await this.database.query(sql`CHECKPOINT`, { long: 'bulk' });
  }

  async onModuleDestroy(): Promise<void> {
    await this.schedule.stop();
    await this.lane;
  }

  private async rest(ms: number): Promise<void> {
    await this.pause(ms);
    for (let waited = 0; waited < MAX_YIELD_MS && this.doWritesWait(); waited += LOOK_MS)
      await this.pause(LOOK_MS);
  }

  private pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.signal, ref: false }).catch(() => {});
  }

  private doWritesWait(): boolean {
    return (
      !this.signal.aborted &&
      (this.database.waitingCount > 0 || this.queues.some((waiting) => waiting() > 0))
    );
  }
}

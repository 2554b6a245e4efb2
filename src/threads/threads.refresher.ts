import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { logger } from '../common/logger.js';
import { Database } from '../database/database.js';
import { markedProjectsQuery, refreshLockQuery, refreshQuery } from './threads.query.js';

/** Marks that one transaction takes: some 50 ms of work. */
const MARKS_AT_ONCE = 5000;
const PAUSE_MS = 1000;
/** The pause is at least this many times the work before it. */
const REST = 4;

/**
 * Brings the stored statistics of threads up to date, so that readers compute few themselves. Answers are exact
 * without it, only slower. Every process of every replica runs one; they share the work by project and do none twice.
 */
@Injectable()
export class ThreadsRefresher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stop = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    this.loop = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await this.loop;
  }

  /** Refreshes until no thread is marked that another process does not have in hand. */
  async refresh(): Promise<void> {
    for (let isDone = false; !isDone && !this.stop.signal.aborted;) {
      isDone = true;
      const projects = await this.database.query<{ project_id: string }>(markedProjectsQuery());
      for (const { project_id } of projects)
        if ((await this.refreshSome(project_id)) === MARKS_AT_ONCE) isDone = false;
    }
  }

  /** How many marks were taken. */
  private refreshSome(projectId: string): Promise<number> {
    return this.database.transaction(async () => {
      const [lock] = await this.database.query<{ is_locked: boolean }>(refreshLockQuery(projectId));
      if (!lock!.is_locked) return 0;
      const [done] = await this.database.query<{ taken: number }>(
        refreshQuery(projectId, MARKS_AT_ONCE),
      );
      return done!.taken;
    });
  }

  private async run(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      const started = performance.now();
      await this.refresh().catch((error: unknown) =>
        logger.warn({ err: error }, 'threads are not refreshed: reads are exact but slower'),
      );
      const pause_ms = Math.max(PAUSE_MS, REST * (performance.now() - started));
      await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

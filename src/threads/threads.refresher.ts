import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { logger } from '../common/logger.js';
import { Database } from '../database/database.js';
import { STATEMENT_MS } from '../database/limits.js';
import { markedProjectsQuery, refreshLockQuery, refreshQuery } from './threads.query.js';

/** Marks that one transaction takes: 0.15 s of work when each names another thread of ten turns. */
const MARKS_AT_ONCE = 5000;
const PAUSE_MS = 1000;
/** The pause is at least this many times the round before it, so that one long thread does not keep a core busy. */
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

  /** Refreshes until no thread is marked but those that another process has in hand. */
  async refresh(): Promise<void> {
    while (await this.round());
  }

  /**
   * Takes marks of every project that has some; true when a project may have more.
   * @throws what the first project to fail met, after the others had their turn.
   */
  private async round(): Promise<boolean> {
    let hasMore = false;
    const failures: unknown[] = [];
    const projects = await this.database.query<{ project_id: string }>(markedProjectsQuery());
    for (const { project_id } of projects) {
      if (this.stop.signal.aborted) return false;
      try {
        if ((await this.refreshSome(project_id)) === MARKS_AT_ONCE) hasMore = true;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return hasMore;
  }

  /** How many marks were taken. */
  private refreshSome(projectId: string): Promise<number> {
    return this.database.long(async () => {
      const [lock] = await this.database.query<{ is_locked: boolean }>(refreshLockQuery(projectId));
      if (!lock!.is_locked) return 0;
      const [done] = await this.database.query<{ taken: number }>(
        refreshQuery(projectId, MARKS_AT_ONCE),
      );
      return done!.taken;
    }, STATEMENT_MS.bulk);
  }

  private run(): Promise<void> {
    return this.database.urgently(() => this.refreshAlways());
  }

  private async refreshAlways(): Promise<void> {
    const { signal } = this.stop;
    let isFailing = false;
    while (!signal.aborted) {
      const started = performance.now();
      let hasMore = false;
      try {
        hasMore = await this.round();
        isFailing = false;
      } catch (error) {
        if (!isFailing) logger.warn({ err: error }, 'threads are not refreshed: reads are slower');
        isFailing = true;
      }
      if (hasMore) continue;
      const pause_ms = Math.max(PAUSE_MS, REST * (performance.now() - started));
      await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

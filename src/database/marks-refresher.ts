import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { type Sql, sql } from '../query/sql.js';
import type { Database } from './database.js';
import { STATEMENT_MS } from './limits.js';

const PAUSE_MS = 1000;
/** The pause is at least this many times the round before it, so that one long refresh does not keep a core busy. */
const REST = 4;

/** Statistics that are stored, and the marks that say which have changed. */
export interface Marked {
  /** The table of the marks. */
  marks: Sql;
  /** Half of the key of the advisory lock; the other is a hash of the project. */
  lock: number;
  /** What one transaction takes at most, marks or what they name. */
  atOnce: number;
  /** For the log. */
  what: string;
}

/**
 * Brings statistics of projects up to date, so that readers compute few themselves. Answers are exact without it, only
 * slower. Every process of every replica runs one; they share the work by project and do none twice.
 */
export abstract class MarksRefresher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stop = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    protected readonly database: Database,
    private readonly marked: Marked,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /**
   * Refreshes up to `limit` of what is marked and takes these marks away, no other ones: a mark committed after the first
   * statement began stays. In a transaction, with the project's lock held. Answers how many were taken.
   */
  protected abstract take(projectId: string, limit: number): Promise<number>;

  onApplicationBootstrap(): void {
    this.loop = this.database.urgently(() => this.refreshAlways());
  }

  async onModuleDestroy(): Promise<void> {
    this.stop.abort();
    await this.loop;
  }

  /** Refreshes until nothing is marked but what another process has in hand. */
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
    const projects = await this.database.query<{ project_id: string }>(
      markedProjects(this.marked.marks),
    );
    for (const { project_id } of projects) {
      if (this.stop.signal.aborted) return false;
      try {
        if ((await this.takeSome(project_id)) === this.marked.atOnce) hasMore = true;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return hasMore;
  }

  /**
   * The lock is taken in a statement of its own: one that began before it was held could store what it saw before
   * another refresh, and take away the marks of what it did not see.
   */
  private takeSome(projectId: string): Promise<number> {
    const { lock, atOnce } = this.marked;
    return this.database.long(async () => {
      const [row] = await this.database.query<{ is_locked: boolean }>(
        sql`SELECT pg_try_advisory_xact_lock(${lock}, hashtext(${projectId})) AS is_locked`,
      );
      return row!.is_locked ? this.take(projectId, atOnce) : 0;
    }, STATEMENT_MS.bulk);
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
        if (!isFailing)
          this.logger.warn(
            { err: error },
            `${this.marked.what} are not refreshed: reads are slower`,
          );
        isFailing = true;
      }
      if (hasMore) continue;
      const pause_ms = Math.max(PAUSE_MS, REST * (performance.now() - started));
      await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

/** Projects with marks: one look into the index for each. */
const markedProjects = (marks: Sql): Sql => sql`
  WITH RECURSIVE marked AS (
    (SELECT project_id FROM ${marks} ORDER BY project_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.project_id FROM ${marks} m WHERE m.project_id > marked.project_id ORDER BY m.project_id LIMIT 1)
    FROM marked WHERE marked.project_id IS NOT NULL
  )
  SELECT project_id FROM marked WHERE project_id IS NOT NULL`;

import { type Sql, sql } from '../query/sql.js';
import { type AdvisoryLock, tryLock } from './advisory-locks.js';
import type { Database } from './database.js';
import { STATEMENT_MS } from './limits.js';
import type { Schedule } from './schedule.js';

const PAUSE_MS = 1000;
/** The pause is at least this many times the run before it, so that one long refresh does not keep a core busy. */
const REST = 4;

/** Statistics that are stored, and the marks that say which have changed. */
export interface MarkedStatistics {
  /** The table of the marks. */
  marks: Sql;
  /** Of the project. */
  lock: AdvisoryLock;
  /** How many marks, or things that they name, one transaction takes. */
  atOnce: number;
  /** For the log and the metric. */
  what: string;
}

/**
 * Brings statistics of projects up to date, so that readers compute few themselves. Answers are exact without it, only
 * slower. Every process of every replica runs one; they share the work by project and do none twice.
 */
export abstract class MarksRefresher {
  constructor(
    protected readonly database: Database,
    private readonly marked: MarkedStatistics,
    private readonly schedule: Schedule,
  ) {
    const refresh = async () => {
      if (await database.urgently(() => this.round())) again();
    };
    const again = schedule.every(PAUSE_MS, marked.what, refresh, { isEager: true, rest: REST });
  }

  /**
   * Refreshes up to `limit` of what is marked and takes these marks away, no other ones: a mark committed after the first
   * statement began stays. In a transaction, with the project's lock held. Answers how many were taken.
   */
  protected abstract take(projectId: string, limit: number): Promise<number>;

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
    let after = '';
    for (;;) {
      const [next] = await this.database.query(nextMarked(this.marked.marks, after));
      if (!next) break;
      if (this.schedule.signal.aborted) return false;
      after = next.project_id;
      try {
        if ((await this.takeSome(after)) === this.marked.atOnce) hasMore = true;
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
      const [row] = await this.database.query(tryLock(lock, projectId));
      return row!.is_mine ? this.take(projectId, atOnce) : 0;
    }, STATEMENT_MS.bulk);
  }
}

/** The next project with marks, by one look into the index. */
const nextMarked = (marks: Sql, after: string): Sql<{ project_id: string }> =>
  sql`SELECT m.project_id FROM ${marks} m WHERE m.project_id > ${after} ORDER BY m.project_id LIMIT 1`;

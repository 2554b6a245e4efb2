import { type Sql, sql } from '../query/sql.js';
import { type AdvisoryLock, tryLock } from './advisory-locks.js';
import type { Database } from './database.js';
import type { Schedule } from './schedule.js';

const PAUSE_MS = 1000;
/**
 * A pause is at least this many times as long as the previous run, so that one long refresh does not keep a core busy.
 */
const REST = 4;

/** Stored statistics, and the marks that name what is out of date. */
export interface MarkedStatistics {
  marks: Sql;
  lock: AdvisoryLock;
  /** Most marks, or items named by marks, that one transaction processes. */
  atOnce: number;
  /** Name of the statistics in the log and the metric. */
  what: string;
}

/**
 * Keeps stored statistics of projects up to date, so that readers rarely compute them. Answers are exact without it,
 * only slower. Every process of every replica runs one. They divide the work by project, and no work is done twice.
 */
export abstract class MarksRefresher {
  constructor(
    protected readonly database: Database,
    private readonly marked: MarkedStatistics,
    private readonly schedule: Schedule,
  ) {
    const refresh = async () => {
      if (await this.round()) again();
    };
    const again = schedule.every(PAUSE_MS, marked.what, refresh, { isEager: true, rest: REST });
  }

  /**
   * Refreshes up to `limit` marked items and deletes exactly their marks. A mark that is committed after the first
   * statement began must stay. Runs in a transaction that holds the project's lock. Returns how many marks were
   * processed.
   */
  protected abstract take(projectId: string, limit: number): Promise<number>;

  /** Refreshes until the only marks left are those that another process is working on. */
  async refresh(): Promise<void> {
    while (await this.round());
  }

  /**
   * Processes marks of every project that has some. Returns true when a project may have more.
   * @throws the first error of any project, after all projects had their turn
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
   * Takes the lock in a statement of its own. A statement that began before the lock was held sees an old state. It
   * could overwrite a newer refresh, and delete marks of changes that it did not see.
   */
  private takeSome(projectId: string): Promise<number> {
    const { lock, atOnce } = this.marked;
    return this.database.transaction({ long: 'bulk', isUrgent: true }, async () => {
      const [row] = await this.database.query(tryLock(lock, projectId));
      return row!.is_mine ? this.take(projectId, atOnce) : 0;
    });
  }
}

/** Finds the next project with marks by one index lookup. */
const nextMarked = (marks: Sql, after: string): Sql<{ project_id: string }> =>
  sql`SELECT m.project_id FROM ${marks} m WHERE m.project_id > ${after} ORDER BY m.project_id LIMIT 1`;

import { Database } from '../../platform/database/database.js';
import { sql } from '../../platform/query/sql.js';

const DAY_MS = 86_400_000;

/**
 * Compares the clock of the database, which can be set, with a monotonic one. Retention counts in days, so a clock that
 * jumps ahead would erase data that must remain.
 */
export class DatabaseClock {
  /** The database's time at which the monotonic clock began. */
  private origin: number | undefined;

  constructor(private readonly database: Database) {}

  /** Returns true when the database's clock has jumped ahead by a day or more since the first call. */
  async isAhead(): Promise<boolean> {
    const [row] = await this.database.query<{ ms: string }>(
      sql`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms`,
    );
    const origin = Number(row!.ms) - performance.now();
    this.origin ??= origin;
    return origin - this.origin >= DAY_MS;
  }
}

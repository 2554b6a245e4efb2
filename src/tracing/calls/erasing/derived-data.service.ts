import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/audit/add-event.js';
import { Database } from '../../../platform/database/database.js';
import { join, sql, type Sql } from '../../../platform/query/sql.js';

/** What another feature makes of calls. */
export interface DerivedDataHandler {
  /** Taken by who deletes or erases calls. */
  lock: (projectId: string) => Sql;
  /** Ids of what was made of calls, whose ids `calls` selects. Purging also concerns what was forgotten before without it. */
  made: (projectId: string, calls: Sql, isPurge: boolean) => Sql;
  /** Forgets it, in the transaction of the caller. `purgedBy` asked for the calls to be purged; null for everything else. */
  forget: (projectId: string, made: readonly string[], purgedBy: Actor | null) => Promise<void>;
}

/** Ids of what each maker made. */
interface DerivedDataIds {
  made: string[][];
}

/** What was made of calls is forgotten with them, in the transaction that deletes or erases them. */
@Injectable()
export class DerivedDataRegistry {
  private readonly makers: DerivedDataHandler[] = [];

  constructor(private readonly database: Database) {}

  register(maker: DerivedDataHandler): void {
    this.makers.push(maker);
  }

  /** Forgets what was made of calls, in the transaction of the caller. */
  async forget(
    projectId: string,
    calls: readonly string[],
    purgedBy: Actor | null = null,
  ): Promise<void> {
    if (calls.length === 0) return;
    const find = async (whatIsMade: (calls: Sql) => Sql) => {
      const [row] = await this.database.query(
        sql<DerivedDataIds>`SELECT ${whatIsMade(sql`SELECT unnest(${calls}::text[])`)} AS made`,
      );
      return row!;
    };
    await this.forgetWith(projectId, find, purgedBy);
  }

  /**
   * Forgets what was made of calls that `erase` deletes with one statement, however many these are: the statement answers
   * as `made` what the expression says that it is given, of the ids that a query selects.
   */
  async forgetWith<T extends DerivedDataIds>(
    projectId: string,
    erase: (whatIsMade: (calls: Sql) => Sql) => Promise<T>,
    purgedBy: Actor | null = null,
  ): Promise<T> {
    for (const { lock } of this.makers) await this.database.query(lock(projectId));
    const row = await erase(
      (calls) =>
        sql`json_build_array(${join(
          this.makers.map(({ made }) => sql`ARRAY(${made(projectId, calls, purgedBy !== null)})`),
        )})`,
    );
    for (const [i, made] of row.made.entries())
      await this.makers[i]!.forget(projectId, made, purgedBy);
    return row;
  }
}

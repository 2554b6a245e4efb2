import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/audit/add-event.js';
import { Database } from '../../../platform/database/database.js';
import { join, sql, type Sql } from '../../../platform/query/sql.js';

/** Deletes the data that another feature derives from calls. */
export interface DerivedDataHandler {
  /** Lock that every transaction takes before it deletes or erases calls. */
  lock: (projectId: string) => Sql;
  /**
   * Selects ids of data derived from the calls whose ids `calls` selects. For a purge it includes data that was
   * forgotten earlier, without a purge.
   */
  made: (projectId: string, calls: Sql, isPurge: boolean) => Sql;
  /**
   * Forgets derived data, in the transaction of the caller. `purgedBy` is the actor who requested a purge, else null.
   */
  forget: (projectId: string, made: readonly string[], purgedBy: Actor | null) => Promise<void>;
}

/** Ids of derived data, one list for each handler. */
interface DerivedDataIds {
  made: string[][];
}

/** Forgets data derived from calls, in the transaction that deletes or erases the calls. */
@Injectable()
export class DerivedDataRegistry {
  private readonly makers: DerivedDataHandler[] = [];

  constructor(private readonly database: Database) {}

  register(maker: DerivedDataHandler): void {
    this.makers.push(maker);
  }

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
   * Forgets data derived from any number of calls that `erase` deletes with one statement. `erase` gets a function that
   * takes a query of call ids and returns an expression. The statement must return the value of this expression as
   * `made`.
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

import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { join, sql, type Sql } from '../../../platform/query/sql.js';

/** What another feature makes of calls. */
export interface Maker {
  /** Taken by who deletes or erases calls. */
  lock: (projectId: string) => Sql;
  /** Ids of what was made of calls, whose ids `calls` selects. */
  made: (projectId: string, calls: Sql) => Sql;
  /** Forgets it, in the transaction of the caller. */
  forget: (projectId: string, made: readonly string[]) => Promise<void>;
}

/** Ids of what each maker made. */
interface Made {
  made: string[][];
}

/** What was made of calls is forgotten with them, in the transaction that deletes or erases them. */
@Injectable()
export class MadeOfCalls {
  private readonly makers: Maker[] = [];

  constructor(private readonly database: Database) {}

  register(maker: Maker): void {
    this.makers.push(maker);
  }

  /** Forgets what was made of calls, in the transaction of the caller. */
  async forget(projectId: string, calls: readonly string[]): Promise<void> {
    if (calls.length === 0) return;
    await this.forgetWith(projectId, async (whatIsMade) => {
      const [row] = await this.database.query(
        sql<Made>`SELECT ${whatIsMade(sql`SELECT unnest(${calls}::text[])`)} AS made`,
      );
      return row!;
    });
  }

  /**
   * Forgets what was made of calls that `erase` deletes with one statement, however many these are: the statement answers
   * as `made` what the expression says that it is given, of the ids that a query selects.
   */
  async forgetWith<T extends Made>(
    projectId: string,
    erase: (whatIsMade: (calls: Sql) => Sql) => Promise<T>,
  ): Promise<T> {
    for (const { lock } of this.makers) await this.database.query(lock(projectId));
    const row = await erase(
      (calls) =>
        sql`json_build_array(${join(
          this.makers.map(({ made }) => sql`ARRAY(${made(projectId, calls)})`),
        )})`,
    );
    for (const [i, made] of row.made.entries()) await this.makers[i]!.forget(projectId, made);
    return row;
  }
}

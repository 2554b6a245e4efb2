import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { STATEMENT_MS } from '../database/limits.js';
import { Schedule } from '../database/schedule.js';
import { sql } from '../query/sql.js';

const EVERY_MS = 60 * 60 * 1000;

/** Removes the idempotency keys that have served their 24 hours. Any number of processes may do so at once. */
@Injectable()
export class IdempotencySweeper {
  constructor(
    private readonly database: Database,
    schedule: Schedule,
  ) {
    schedule.every(EVERY_MS, 'idempotency keys', () => this.sweep());
  }

  private async sweep(): Promise<void> {
    const old = sql`DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`;
    const remove = () => this.database.long(() => this.database.query(old), STATEMENT_MS.bulk);
    await this.database.urgently(remove);
  }
}

import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { Schedule } from '../../database/schedule.js';
import { sql } from '../../query/sql.js';

const EVERY_MS = 60 * 60 * 1000;

/** Deletes idempotency keys older than 24 hours. Several processes may do this at the same time. */
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
    await this.database.query(old, { long: 'bulk', isUrgent: true });
  }
}

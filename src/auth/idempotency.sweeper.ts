import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Database } from '../database/database.js';
import { STATEMENT_MS } from '../database/limits.js';
import { sql } from '../query/sql.js';

const EVERY_MS = 60 * 60 * 1000;

/** Removes the idempotency keys that have served their 24 hours. Any number of processes may do so at once. */
@Injectable()
export class IdempotencySweeper implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('idempotency');
  private timer?: NodeJS.Timeout;

  constructor(private readonly database: Database) {}

  onModuleInit(): void {
    this.timer = setInterval(() => {
      this.sweep().catch((error: unknown) => this.logger.warn(error));
    }, EVERY_MS);
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  async sweep(): Promise<void> {
    const old = sql`DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`;
    const remove = () => this.database.long(() => this.database.query(old), STATEMENT_MS.bulk);
    await this.database.urgently(remove);
  }
}

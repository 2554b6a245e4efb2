import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Client } from 'pg';
import { Database } from '../database/database.js';
import { sql, type Sql } from '../query/sql.js';

const CHANNEL = 'skein_training_jobs';
const RECONNECT_MS = 1000;

/** In a transaction: is sent when it commits. */
export const notifyQueue = (): Sql => sql`SELECT pg_notify(${CHANNEL}, '')`;

/**
 * Tells waiting claims that a job may be there for them. One connection a process, opened when the first claim waits,
 * listens for all of them; as long as it is broken it is tried again every second, and each time it stands again all
 * waiters look, since what was said in between is lost.
 */
@Injectable()
export class JobNotices implements OnModuleDestroy {
  private readonly logger = new Logger(JobNotices.name);
  private readonly waiters = new Set<() => void>();
  private ready: Promise<void> | null = null;
  private connection: Client | null = null;
  private retry: NodeJS.Timeout | undefined;
  isStopping = false;

  constructor(private readonly database: Database) {}

  /** Calls `wake` at each notice until `stop` is called. Resolves when notices can no longer be missed. */
  async listen(wake: () => void): Promise<() => void> {
    this.waiters.add(wake);
    await (this.ready ??= this.connect());
    return () => this.waiters.delete(wake);
  }

  /** Ends all waiting, so that their requests are answered before the server closes. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.retry);
    this.wakeAll();
    await this.connection?.end().catch(() => {});
  }

  private async connect(): Promise<void> {
    const connection = new Client(this.database.pool.options);
    const onLost = (error?: Error) => {
      if (this.connection !== connection || this.isStopping) return;
      this.connection = null;
      this.logger.warn(`listening for jobs was interrupted: ${error?.message ?? 'closed'}`);
      this.retry = setTimeout(() => void (this.ready = this.connect()), RECONNECT_MS);
    };
    this.connection = connection;
    connection.on('error', onLost);
    connection.on('end', () => onLost());
    connection.on('notification', () => this.wakeAll());
    try {
      await connection.connect();
      await connection.query(`LISTEN ${CHANNEL}`);
      this.wakeAll();
    } catch (error) {
      connection.end().catch(() => {});
      onLost(error as Error);
    }
  }

  private wakeAll(): void {
    for (const wake of this.waiters) wake();
  }
}

import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { type Client, newClient } from '../pg/driver.js';
import { Database } from './database.js';

const RECONNECT_MS = 1000;

/** Called with each notice of a channel, and with null when notices may have been missed. */
type NoticeListener = (notice: string | null) => void;

/**
 * Receives notices of PostgreSQL's `LISTEN`. Each process opens one connection with the first listener, and uses it for
 * all channels. A broken connection is retried every second. After each reconnect all listeners are called with null.
 */
@Injectable()
export class Notices implements OnModuleDestroy {
  private readonly logger = new Logger(Notices.name);
  private readonly channels = new Map<string, Set<NoticeListener>>();
  private ready: Promise<unknown> = Promise.resolve();
  private connection: Client | null = null;
  private retry: NodeJS.Timeout | undefined;
  isStopping = false;

  constructor(private readonly database: Database) {}

  /**
   * Calls `wake` for each notice until the returned function is called. Resolves when no notice can be missed any more,
   * or when the database is unreachable. `channel` must be a name that needs no quotes.
   */
  async listen(channel: string, wake: NoticeListener): Promise<() => void> {
    let wakes = this.channels.get(channel);
    if (!wakes) {
      const isFirst = this.channels.size === 0;
      this.channels.set(channel, (wakes = new Set()));
      this.ready = isFirst ? this.connect() : this.ready.then(() => this.add(channel));
    }
    wakes.add(wake);
    await this.ready;
    return () => void wakes.delete(wake);
  }

  get listeners(): number {
    return [...this.channels.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Wakes all listeners, so that waiting requests are answered before the server closes. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.retry);
    this.wakeAll();
    await this.connection?.end().catch(() => {});
  }

  private async connect(): Promise<void> {
    const connection = newClient(this.database.pool.options);
    const onLost = (error?: Error) => {
      if (this.connection !== connection || this.isStopping) return;
      this.connection = null;
      this.logger.warn(`listening was interrupted: ${error?.message ?? 'closed'}`);
      this.retry = setTimeout(() => void (this.ready = this.connect()), RECONNECT_MS);
    };
    this.connection = connection;
    this.database.outage.include(connection);
    connection.on('error', onLost);
    connection.on('end', () => onLost());
    connection.on('notification', ({ channel, payload }) => {
      for (const wake of this.channels.get(channel) ?? []) wake(payload ?? '');
    });
    try {
      await connection.connect();
      for (const channel of this.channels.keys()) await connection.query(`LISTEN ${channel}`);
      this.wakeAll();
    } catch (error) {
      connection.end().catch(() => {});
      onLost(error as Error);
    }
  }

  /** Listens on another channel. If the connection is lost, the reconnect includes the channel. */
  private async add(channel: string): Promise<void> {
    await this.connection?.query(`LISTEN ${channel}`).catch(() => {});
  }

  private wakeAll(): void {
    for (const wakes of this.channels.values()) for (const wake of wakes) wake(null);
  }
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { type Prepared, Sql } from '../query/sql.js';
import { Busy } from './busy.js';
import { type Rows, RowStream, TextRows } from './row-stream.js';

/** As long as a request waits for a connection. */
const STREAM_WAIT_MS = 5000;

/** Connections that streams leave to everything else: a quarter, at least one. */
const reservedOf = (poolSize: number) => Math.max(1, Math.floor(poolSize / 4));

/**
 * Statements on the pool that TypeORM opened. Inside `transaction` every `query` of the same asynchronous context goes
 * to the transaction's connection; repositories do not, so what must be atomic is written as `Sql`.
 */
@Injectable()
export class Database {
  private readonly current = new AsyncLocalStorage<PoolClient>();
  private streams = 0;
  private readonly slotWaiters: (() => void)[] = [];

  constructor(private readonly dataSource: DataSource) {}

  get pool(): Pool {
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  get inTransaction(): boolean {
    return this.current.getStore() !== undefined;
  }

  async query<Row extends QueryResultRow>(query: Sql | Prepared): Promise<Row[]> {
    const { rows } = await (this.current.getStore() ?? this.pool).query<Row>(
      query instanceof Sql ? query.toQuery() : query,
    );
    return rows;
  }

  /** Runs `work` in one transaction, or in the one already open. Commits before it resolves. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.inTransaction) return work();
    const client = await this.pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await this.current.run(client, work);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((lost: Error) => (failure = lost));
      throw error;
    } finally {
      client.release(failure);
    }
  }

  /** Runs `work` so that its failure takes back what it did, and leaves the transaction it runs in usable. */
  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const client = this.current.getStore();
    if (!client) throw new Error('a savepoint needs a transaction');
    await client.query('SAVEPOINT work');
    try {
      const result = await work();
      await client.query('RELEASE SAVEPOINT work');
      return result;
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT work');
      throw error;
    }
  }

  /**
   * The rows of a query in batches, each at most `maxBatch` rows: of their single text column, unless `rows` says how
   * else they are put together. Read through a cursor: memory does not grow with the result. A stream holds its
   * connection until its reader has read, so some connections are kept from streams: readers that dawdle do not stop
   * everybody else. Further streams wait for one to end.
   * @throws Busy after `STREAM_WAIT_MS`
   */
  async stream(
    query: Sql,
    { rows = new TextRows(), maxBatch }: { rows?: Rows<unknown>; maxBatch?: number } = {},
  ): Promise<RowStream> {
    await this.streamSlot();
    try {
      const stream = new RowStream(await this.pool.connect(), query.toQuery(), rows, maxBatch);
      return stream.once('close', () => this.freeSlot());
    } catch (error) {
      this.freeSlot();
      throw error;
    }
  }

  private async streamSlot(): Promise<void> {
    const { max } = this.pool.options;
    if (this.streams < max - reservedOf(max)) {
      this.streams++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const give = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.slotWaiters.splice(this.slotWaiters.indexOf(give), 1);
        reject(new Busy('as many streams are open as may be'));
      }, STREAM_WAIT_MS);
      this.slotWaiters.push(give);
    });
  }

  /** Hands the slot to who has waited longest. */
  private freeSlot(): void {
    const give = this.slotWaiters.shift();
    if (give) give();
    else this.streams--;
  }
}

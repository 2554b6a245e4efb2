import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { Sql } from '../query/sql.js';
import { RowStream } from './row-stream.js';

/**
 * Statements on the pool that TypeORM opened. Inside `transaction` every `query` of the same asynchronous context goes
 * to the transaction's connection; repositories do not, so what must be atomic is written as `Sql`.
 */
@Injectable()
export class Database {
  private readonly current = new AsyncLocalStorage<PoolClient>();

  constructor(private readonly dataSource: DataSource) {}

  get pool(): Pool {
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  get inTransaction(): boolean {
    return this.current.getStore() !== undefined;
  }

  async query<Row extends QueryResultRow>(query: Sql): Promise<Row[]> {
    const { rows } = await (this.current.getStore() ?? this.pool).query<Row>(query.toQuery());
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

  /**
   * The single text column of each row, in batches of at most `maxBatch`, read through a cursor: memory does not grow
   * with the result.
   */
  async stream(query: Sql, maxBatch?: number): Promise<RowStream> {
    return new RowStream(await this.pool.connect(), query.toQuery(), maxBatch);
  }
}

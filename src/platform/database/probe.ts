import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { newPool, type Pool } from '../pg/driver.js';
import type { SchemaSource } from './schema-state.js';
import { Database } from './database.js';

/** A database that does not answer within this time counts as unreachable. */
export const PROBE_TIMEOUT_MS = 2000;

/**
 * Checks the health of the database on a connection outside the shared pool. Health checks need no key, and must
 * neither wait for requests nor delay them. The connection is opened on demand, and closed when it is idle or did not
 * answer.
 */
@Injectable()
export class Probe implements SchemaSource, OnApplicationShutdown {
  private readonly connection: Pool;

  constructor(
    private readonly dataSource: DataSource,
    database: Database,
  ) {
    this.connection = newPool({
      ...database.pool.options,
      max: 1,
      query_timeout: PROBE_TIMEOUT_MS,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    });
    this.connection.on('error', () => {}); // lost while idle; the next query opens another one
  }

  get options(): SchemaSource['options'] {
    return this.dataSource.options;
  }

  async query<Rows>(text: string): Promise<Rows> {
    return (await this.connection.query(text)).rows as Rows;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.connection.end();
  }
}

import pg, {
  type Client,
  type ClientConfig,
  type Pool,
  type PoolClient,
  type PoolConfig,
} from 'pg';
import { HostClient } from './hosts.js';
import type { DataSource, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';

export type { Client, Pool, PoolClient };

const driverOf = ({ driver }: DataSource) => driver as PostgresDriver;

/** Returns the pool that TypeORM opened. It exists once the data source is initialized. */
export const driverPool = (dataSource: DataSource) => driverOf(dataSource).master as Pool;

/** Makes repositories use the connections of `lend`. They would otherwise take them from the pool. */
export function lendToRepositories(dataSource: DataSource, lend: () => Promise<PoolClient>): void {
  driverOf(dataSource).obtainMasterConnection = async () => {
    const client = await lend();
    return [client, (error?: Error) => client.release(error)];
  };
}

/** Returns a repository that uses a connection with an open transaction. */
export function repositoryOn<Row extends ObjectLiteral>(
  client: PoolClient,
  dataSource: DataSource,
  entity: EntityTarget<Row>,
): Repository<Row> {
  const runner = dataSource.createQueryRunner();
  Object.assign(runner, { databaseConnection: client, isTransactionActive: true });
  return runner.manager.getRepository(entity);
}

/** Longest connection attempt. Then the waiting request is answered 503. */
const CONNECT_MS = 5000;

/**
 * Options of every connection. A dead host is noticed on an idle connection too. A connection is replaced after some
 * time, so that none stays on a server that others have left.
 */
export const CONNECTION = {
  Client: HostClient,
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  maxLifetimeSeconds: 1800,
};

export const newClient = (config: ClientConfig) => new HostClient({ ...CONNECTION, ...config });

export const newPool = (config: PoolConfig) => new pg.Pool({ ...CONNECTION, ...config });

/** Runs `work` on a connection that is closed afterwards. */
export async function withConnection<T>(
  url: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = newClient({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

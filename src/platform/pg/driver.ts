import pg, {
  type Client,
  type ClientConfig,
  type Pool,
  type PoolClient,
  type PoolConfig,
} from 'pg';
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

export const newClient = (config: string | ClientConfig) => new pg.Client(config);

export const newPool = (config: PoolConfig) => new pg.Pool(config);

/** Runs `work` on a connection that is closed afterwards. */
export async function withConnection<T>(
  url: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = newClient(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

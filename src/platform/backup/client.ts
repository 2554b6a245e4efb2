import type { DataSource } from 'typeorm';
import { driverPool, type PoolClient } from '../pg/driver.js';

/** Runs `work` on its own connection. After an error the connection is closed, and its transaction with it. */
export async function withClient<T>(
  dataSource: DataSource,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await driverPool(dataSource).connect();
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}

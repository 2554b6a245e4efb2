import { DataSource } from 'typeorm';
import type { Client } from 'pg';
import { LOCKS, withLock } from './advisory-locks.js';
import { UNLIMITED_SESSION } from './limits.js';
import { beginSession } from './session.js';

/** One connection for the lock, one for the migrations. */
const POOL_SIZE = 2;

/**
 * Brings the schema to the newest migration, over connections without time limits. TypeORM takes no lock of its own, so
 * an advisory one makes replicas that start at the same time wait for each other.
 */
export async function migrate({ options }: DataSource): Promise<string[]> {
  const extra = {
    ...(options as { extra: object }).extra,
    onConnect: (client: Client) => beginSession(client, UNLIMITED_SESSION),
  };
  const unlimited = new DataSource({ ...options, poolSize: POOL_SIZE, extra } as typeof options);
  await unlimited.initialize();
  try {
    return await withLock(unlimited, LOCKS.migrations, async () => {
      const done = await unlimited.runMigrations({ transaction: 'each' });
      return done.map(({ name }) => name);
    });
  } finally {
    await unlimited.destroy();
  }
}

import { DataSource } from 'typeorm';
import type { Client } from 'pg';
import { LOCKS, withLock } from './advisory-locks.js';
import { distributeTables, isDistributed } from './distribute.js';
import { UNLIMITED_SESSION } from './limits.js';
import { beginSession } from './session.js';

/** One connection for the lock, one for the migrations. */
const POOL_SIZE = 2;

/** Without it Citus refuses triggers; those of the service write to the project of their rows alone. PostgreSQL ignores it. */
const SESSION = { ...UNLIMITED_SESSION, 'citus.enable_unsafe_triggers': 'on' };

/**
 * Brings the schema to the newest migration. A table that is new is distributed where the others are. TypeORM takes no lock
 * of its own, so an advisory one makes replicas that start at the same time wait for each other.
 */
export function migrate(dataSource: DataSource): Promise<string[]> {
  return changingSchema(dataSource, async (unlimited) => {
    const done = await unlimited.runMigrations({ transaction: 'each' });
    if (done.length > 0 && (await isDistributed(unlimited))) await distributeTables(unlimited);
    return done.map(({ name }) => name);
  });
}

/** Runs `work` over connections without time limits, and alone. */
export async function changingSchema<T>(
  { options }: DataSource,
  work: (unlimited: DataSource) => Promise<T>,
): Promise<T> {
  const extra = {
    ...(options as { extra: object }).extra,
    onConnect: (client: Client) => beginSession(client, SESSION),
  };
  const unlimited = new DataSource({ ...options, poolSize: POOL_SIZE, extra } as typeof options);
  await unlimited.initialize();
  try {
    return await withLock(unlimited, LOCKS.migrations, () => work(unlimited));
  } finally {
    await unlimited.destroy();
  }
}

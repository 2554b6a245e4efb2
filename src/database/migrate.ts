import { DataSource } from 'typeorm';
import type { Client } from 'pg';
import { UNLIMITED_SESSION } from './limits.js';
import { beginSession } from './session.js';

/** Any number that no other user of the same database takes: "skein" in ASCII. */
const MIGRATION_LOCK = '495555340654';

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
    return await withAdvisoryLock(unlimited, MIGRATION_LOCK, async () => {
      const done = await unlimited.runMigrations({ transaction: 'each' });
      return done.map(({ name }) => name);
    });
  } finally {
    await unlimited.destroy();
  }
}

/** Runs `work` while this session holds the lock; it is released even when the process dies. */
export async function withAdvisoryLock<T>(
  dataSource: DataSource,
  lock: string,
  work: () => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [lock]);
    try {
      return await work();
    } finally {
      await runner.query('SELECT pg_advisory_unlock($1)', [lock]);
    }
  } finally {
    await runner.release();
  }
}

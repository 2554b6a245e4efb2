import type { DataSource } from 'typeorm';

/** Any number that no other user of the same database takes: "skein" in ASCII. */
const MIGRATION_LOCK = '495555340654';

/**
 * Brings the schema to the newest migration. TypeORM takes no lock of its own, so an advisory one makes replicas that
 * start at the same time wait for each other.
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  return withAdvisoryLock(dataSource, MIGRATION_LOCK, async () => {
    const done = await dataSource.runMigrations({ transaction: 'each' });
    return done.map(({ name }) => name);
  });
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

import type { DataSource } from 'typeorm';
import { sql, type Sql } from '../query/sql.js';

/**
 * One lock, or one lock for each text. `key` returns the arguments of PostgreSQL's lock functions. Keys of the three
 * forms below do not collide.
 */
export interface AdvisoryLock {
  number: number;
  key: (text: string) => Sql;
}

const numbers = new Set<number>();

/**
 * Declares an advisory lock. The caller documents what the lock protects. Never change a number: processes of two
 * versions exclude each other by it. Most numbers are words in ASCII.
 * @throws Error when the number is already in use
 */
function declareLock(number: number, key: AdvisoryLock['key']): AdvisoryLock {
  if (numbers.has(number)) throw new Error(`two advisory locks have the number ${number}`);
  numbers.add(number);
  return { number, key };
}
export const oneLock = (number: number) => declareLock(number, () => sql`${number}::bigint`);
export const projectLock = (number: number) =>
  declareLock(number, (projectId) => sql`${number}::int, hashtext(${projectId})`);
export const textLock = (number: number) =>
  declareLock(number, (text) => sql`hashtextextended(${text}, ${number}::bigint)`);

/** Waits for the lock, and holds it until the end of the transaction. */
export const lock = ({ key }: AdvisoryLock, text = '') =>
  sql`SELECT pg_advisory_xact_lock(${key(text)})`;

/** Waits for the lock and shares it with other holders of `lockShared`, until the end of the transaction. */
export const lockShared = ({ key }: AdvisoryLock, text = '') =>
  sql`SELECT pg_advisory_xact_lock_shared(${key(text)})`;

/** Takes the lock until the end of the transaction if it is free. Otherwise `is_mine` is false. */
export const tryLock = ({ key }: AdvisoryLock, text = '') =>
  sql<{ is_mine: boolean }>`SELECT pg_try_advisory_xact_lock(${key(text)}) AS is_mine`;

/** Takes the lock until the end of the session if it is free. Otherwise `is_mine` is false. */
export const trySessionLock = ({ key }: AdvisoryLock, text = '') =>
  sql<{ is_mine: boolean }>`SELECT pg_try_advisory_lock(${key(text)}) AS is_mine`;

/** Runs `work` while a session holds the lock. PostgreSQL releases the lock even when the process dies. */
export async function withLock<T>(
  dataSource: DataSource,
  { number }: AdvisoryLock,
  work: () => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [number]);
    try {
      return await work();
    } finally {
      await runner.query('SELECT pg_advisory_unlock($1)', [number]);
    }
  } finally {
    await runner.release();
  }
}

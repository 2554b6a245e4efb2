import type { DataSource } from 'typeorm';
import { sql, type Sql } from '../query/sql.js';

/** A lock, or one for each text. The key is what PostgreSQL's functions take; its three forms never meet. */
export interface Lock {
  number: number;
  key: (text: string) => Sql;
}

const one = (number: number): Lock => ({ number, key: () => sql`${number}::bigint` });
const ofProject = (number: number): Lock => ({
  number,
  key: (projectId) => sql`${number}::int, hashtext(${projectId})`,
});
const ofText = (number: number): Lock => ({
  number,
  key: (text) => sql`hashtextextended(${text}, ${number}::bigint)`,
});

/**
 * Every advisory lock of the service, and what it protects. Never change the numbers: processes of two versions
 * exclude each other by them. Most are words in ASCII.
 */
export const LOCKS = {
  /** Migrations: replicas that start at the same time take turns. */
  migrations: one(495_555_340_654),
  /** The first key: replicas that start on an empty database make one between them. */
  firstKey: one(126_862_167_207_539),
  /** One replica is the watchdog of training jobs. */
  watchdog: one(495_555_340_655),
  /** One replica erases what projects no longer keep. */
  retention: one(125_779_852_814_702),
  /** The number of indexes on fields, while one is added. */
  callIndexes: one(1_670_489_068),
  /** One replica makes and drops indexes on fields. */
  callIndexesKeeper: one(156_888_772),
  /** One replica refreshes the threads of a project. */
  threads: ofProject(0x74687264),
  /** One replica refreshes the statistics of a project's calls. */
  callSlots: ofProject(0x736c6f74),
  /** One replica adds up what a project holds. */
  projects: ofProject(0x70726f6a),
  /** Calls that events of Langfuse change, while these are read and written again. */
  langfuse: ofProject(0x6c66),
  /** What was made of a project's calls: deletions of calls share it, a new build takes it exclusively. */
  builds: ofText(0x6275696c),
  /** The versions of one object. */
  objects: ofText(0x6f626a73),
  /** One row of feedback, while it is replaced. */
  feedback: ofText(0x6664626b),
} satisfies Record<string, Lock>;

/** Waits for the lock, and holds it until the end of the transaction. */
export const lock = ({ key }: Lock, text = '') => sql`SELECT pg_advisory_xact_lock(${key(text)})`;

/** The same, together with others that share it. */
export const lockShared = ({ key }: Lock, text = '') =>
  sql`SELECT pg_advisory_xact_lock_shared(${key(text)})`;

/** The same, unless somebody holds it: then `is_mine` is false. */
export const tryLock = ({ key }: Lock, text = '') =>
  sql<{ is_mine: boolean }>`SELECT pg_try_advisory_xact_lock(${key(text)}) AS is_mine`;

/** The same until the end of the session. */
export const trySessionLock = ({ key }: Lock, text = '') =>
  sql<{ is_mine: boolean }>`SELECT pg_try_advisory_lock(${key(text)}) AS is_mine`;

/** Runs `work` while a session holds the lock; it is released even when the process dies. */
export async function withLock<T>(
  dataSource: DataSource,
  { number }: Lock,
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

import type { DataSource } from 'typeorm';
import { oneLock, withLock } from './advisory-locks.js';
import { distributeTables, isDistributed } from './distribute.js';
import { UNLIMITED_SESSION } from './limits.js';
import { SingleStatementDataSource } from './single-statement-data-source.js';
import {
  type SchemaPolicy,
  assertSchemaKnown,
  isFolded,
  LAST_FOLDED,
  ownMigrations,
  ranMigrations,
} from './schema-state.js';
import { commandText } from '../command-text.js';
import { logger } from '../process/logger.js';
import { beginSession } from '../pg/session.js';
import { applySqlFiles } from './sql-files.js';

/** Serializes migrations of replicas that start at the same time. */
export const MIGRATIONS = oneLock(495_555_340_654);

/** One connection for the lock, one for the migrations, one for the progress report. */
const POOL_SIZE = 3;

/**
 * Settings of Citus; plain PostgreSQL ignores them. Without them Citus refuses triggers. It also refuses to alter a
 * table in a transaction that has changed a row of it. The triggers are safe, because they write only to the project of
 * their rows.
 */
const SESSION = {
  ...UNLIMITED_SESSION,
  'citus.enable_unsafe_triggers': 'on',
  'citus.multi_shard_modify_mode': 'sequential',
};

/**
 * Migrates the schema to the newest migration, and distributes new tables when the others are distributed. TypeORM
 * takes no lock, so an advisory lock makes replicas that start at the same time wait for each other. A schema that is
 * newer, where that is allowed, stays as it is: this build would put back its own functions.
 * @throws Error, before anything is written, when the schema is newer than this build, unless that is allowed.
 */
export function migrate(
  dataSource: DataSource,
  allowed: SchemaPolicy = { allowNewerSchema: false },
): Promise<string[]> {
  return changingSchema(dataSource, async (unlimited) => {
    if (!(await assertSchemaKnown(unlimited, allowed))) return [];
    const done = await changes(unlimited).catch(explainRole);
    if (done.length > 0 && (await isDistributed(unlimited))) await distributeTables(unlimited);
    return done;
  });
}

async function changes(dataSource: DataSource): Promise<string[]> {
  const done = await runMigrations(dataSource);
  // A migration may have dropped functions or triggers that the SQL files create.
  return [...done, ...(await applySqlFiles(dataSource, { all: done.length > 0 }))];
}

function explainRole(error: Error & { code?: string }): never {
  if (error.code !== INSUFFICIENT_PRIVILEGE) throw error;
  throw new Error(
    `the schema is not that of this build, and the role of DATABASE_URL may not change it (${error.message}): ` +
      `run ${commandText('migrate')} with a role that may (docs/operate/database-roles.md)`,
    { cause: error },
  );
}
const INSUFFICIENT_PRIVILEGE = '42501';

/** Runs the migrations of a data source, without the functions and triggers of the features. */
export const migrateTables = (dataSource: DataSource) => changingSchema(dataSource, runMigrations);

async function runMigrations(dataSource: DataSource): Promise<string[]> {
  await takeOver(dataSource);
  const ran = await ranMigrations(dataSource);
  const waiting = ownMigrations(dataSource).filter((name) => !ran.includes(name));
  if (waiting.length === 0) return [];
  const stopTelling = tellProgress(dataSource, waiting);
  try {
    const done = await dataSource.runMigrations({ transaction: 'each' });
    return done.map(({ name }) => name);
  } finally {
    stopTelling();
  }
}

/** Interval of the progress report. A large table may take minutes: an index of 10 million calls takes some 20 s. */
const TOLD_EVERY_MS = 5000;

/** Logs which migration runs, and the progress of an index build, until the returned function is called. */
function tellProgress(dataSource: DataSource, waiting: readonly string[]): () => void {
  const began = performance.now();
  const tell = async () => {
    const ran = await ranMigrations(dataSource);
    const [index] = await dataSource.query<{ name: string; blocks: number }[]>(
      `SELECT relid::regclass::text AS name, (100 * blocks_done / nullif(blocks_total, 0))::int AS blocks
       FROM pg_stat_progress_create_index WHERE datname = current_database() LIMIT 1`,
    );
    const done = waiting.filter((name) => ran.includes(name)).length;
    const how = index ? `, an index of ${index.name} (${index.blocks ?? 0} % read)` : '';
    const seconds = Math.round((performance.now() - began) / 1000);
    logger.info(
      `migration ${Math.min(done + 1, waiting.length)} of ${waiting.length} (${waiting[done] ?? waiting.at(-1)}) is under way${how}, for ${seconds} s`,
    );
  };
  const timer = setInterval(() => void tell().catch(() => {}), TOLD_EVERY_MS);
  return () => clearInterval(timer);
}

/** Drops objects of builds before the baseline that nothing uses. */
const LEFT_BEHIND = [
  'DROP VIEW IF EXISTS trajectory_uploads',
  'DROP FUNCTION IF EXISTS skein_prices(text, json, boolean, timestamptz)',
];

/**
 * Takes over a database whose tables were created by the folded migrations. Its tables equal those of the baseline, so
 * no data is changed.
 */
async function takeOver(dataSource: DataSource): Promise<void> {
  const folded = (await ranMigrations(dataSource)).filter(isFolded);
  if (folded.length === 0) return;
  if (!folded.includes(LAST_FOLDED))
    throw new Error(
      'this database was last used by a build before commit 721c2bc: start that commit on it once, which brings it up to ' +
        'date, and then this build',
    );
  const baseline = ownMigrations(dataSource)[0]!;
  await dataSource.transaction(async (manager) => {
    for (const statement of LEFT_BEHIND) await manager.query(statement);
    await manager.query('DELETE FROM migrations WHERE name = ANY($1)', [folded]);
    await manager.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
      baseline.slice(-13),
      baseline,
    ]);
  });
}

/** Runs `work` on connections without time limits, while no other process changes the schema. */
export async function changingSchema<T>(
  { options }: DataSource,
  work: (unlimited: DataSource) => Promise<T>,
): Promise<T> {
  const extra = {
    ...(options as { extra: object }).extra,
    onConnect: beginSession(SESSION),
  };
  const unlimited = new SingleStatementDataSource({
    ...options,
    poolSize: POOL_SIZE,
    extra,
  } as typeof options);
  await unlimited.initialize();
  try {
    return await withLock(unlimited, MIGRATIONS, () => work(unlimited));
  } finally {
    await unlimited.destroy();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import { ARCHIVE_FLAGS } from '../platform/backup/wal-archive.js';
import type { Config } from '../platform/config/config.js';
import { config } from '../platform/config/process-config.js';
import { InvalidSetting } from '../platform/config/setting.js';
import { SESSION } from '../platform/database/limits.js';
import { assertSessionsLast } from '../platform/database/start-checks.js';
import { ROOM_IN_FILES, ROOM_TO_ERASE } from '../platform/erasing/pace.js';
import { isConnectionError } from '../platform/errors.js';
import { DISK_WATCH } from '../platform/operations/disk-watch.metrics.js';
import { driverPool } from '../platform/pg/driver.js';
import { readDisk } from '../platform/postgres/disk-watch.js';
import { openEmbeddedPostgres } from '../platform/postgres/embedded-postgres.js';
import { logger } from '../platform/process/logger.js';

/** Longest wait for an external database that is still starting. */
const DATABASE_PATIENCE_MS = 60_000;

/** The configured database. */
export interface PostgresServer {
  url: string;
  folder?: string;
  /** Stops the embedded server. An external server is not touched. */
  stop(): Promise<void>;
}

/**
 * Opens the configured database. The signal aborts the start. With `mustExist`, a data folder without a database is
 * refused.
 */
export async function openPostgres(
  { databaseUrl, dataDir, postgresFlags, postgresProcessBytes, isWalKept }: Config,
  { signal, mustExist }: { signal?: AbortSignal; mustExist?: boolean },
): Promise<PostgresServer> {
  if (databaseUrl) return { url: databaseUrl, stop: async () => {} };
  const postgres = await openEmbeddedPostgres({
    dataDir,
    flags: [...(isWalKept ? ARCHIVE_FLAGS : []), ...postgresFlags],
    processBytes: postgresProcessBytes,
    signal,
    mustExist,
    log: (line, level) => logger[level]({ context: 'postgres' }, line),
  });
  DISK_WATCH.answer(() => ({ ...postgres.disk.progress, ...readDisk(postgres.folder) }));
  ROOM_TO_ERASE.answer(() => postgres.disk.roomToErase);
  ROOM_IN_FILES.answer(() => postgres.disk.reuse());
  logger.info(`PostgreSQL keeps its data in ${postgres.folder}`);
  return postgres;
}

/** Connects, and waits for a database that is not running yet. */
export async function connectDatabase(url: string, session = SESSION): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(url, session));
  const deadline = Date.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      if (!dataSource.isInitialized) await dataSource.initialize();
      await assertSessionsLast(driverPool(dataSource));
      return dataSource;
    } catch (error) {
      if (!isWorthWaiting(error) || Date.now() > deadline) throw databaseError(error);
      logger.warn(`waiting for the database: ${(error as Error).message}`);
      await sleep(1000);
    }
  }
}

/**
 * Returns true when a later attempt may succeed: the server is starting, stopping or full. A wrong password or name
 * fails for ever.
 */
function isWorthWaiting(error: unknown): boolean {
  const { severity, code } = error as { severity?: string; code?: string };
  return severity ? /^(57P0|53)/.test(code ?? '') : isConnectionError(error);
}

function databaseError(error: unknown): unknown {
  if (!config.databaseUrl || error instanceof InvalidSetting) return error;
  return new InvalidSetting(
    `DATABASE_URL does not lead to a database: ${(error as Error).message}`,
  );
}

import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { dataSourceOptions } from '../../ormconfig.js';
import { assertBootstrapKey, firstKey } from '../platform/auth/bootstrap.js';
import { greetingWith, keepFirstKey } from '../platform/auth/first-key.js';
import { makeRates } from '../platform/auth/rate-limits.js';
import { loginLink, newLoginCode } from '../platform/auth/sessions.service.js';
import { isConnectionError } from '../platform/errors.js';
import { logger } from '../platform/process/logger.js';
import { ROOM_IN_FILES, ROOM_TO_ERASE } from '../platform/erasing/pace.js';
import { serviceUrl, type Config } from '../platform/config/config.js';
import { InvalidSetting } from '../platform/config/setting.js';
import { openEmbeddedPostgres } from '../platform/postgres/embedded-postgres.js';
import { Database } from '../platform/database/database.js';
import { SESSION } from '../platform/database/limits.js';
import { migrate } from '../platform/database/migrate.js';
import { placeAt } from '../platform/backup/place.js';
import { runBackup } from '../platform/backup/run-backup.js';
import { ARCHIVE_FLAGS } from '../platform/backup/wal-archive.js';
import { WalKeeper } from '../platform/backup/wal-keeper.js';
import { describeBuild } from '../platform/database/schema-state.js';
import {
  assertConnectionsSuffice,
  assertSessionsLast,
  durabilityWarning,
  serverSettings,
} from '../platform/database/start-checks.js';
import { assertFree, Listener } from './listener.js';
import { DISK_WATCH } from '../platform/operations/disk-watch.metrics.js';
import { config, misspelt } from '../platform/config/process-config.js';
import { openService, type Service } from './service.js';
import { Starting } from './starting.js';
import type { Stopped, StopRequest } from './stop-request.js';
import { serveAsTold, Workers } from './workers.js';

/** An external database that is still starting is waited for this long. */
const DATABASE_PATIENCE_MS = 60_000;

/** The database the settings ask for. */
export interface Postgres {
  url: string;
  /** Where the embedded one has its data. */
  folder?: string;
  /** Ends the embedded server; an external one is left alone. */
  stop(): Promise<void>;
}

/** Gives up a start when the signal says so, and refuses a data folder without a database when there must be one. */
export async function openPostgres(
  { databaseUrl, dataDir, postgresFlags, postgresProcessBytes, isWalKept }: Config,
  { signal, mustExist }: { signal?: AbortSignal; mustExist?: boolean },
): Promise<Postgres> {
  if (databaseUrl) return { url: databaseUrl, stop: async () => {} };
  const postgres = await openEmbeddedPostgres({
    dataDir,
    flags: [...(isWalKept ? ARCHIVE_FLAGS : []), ...postgresFlags],
    processBytes: postgresProcessBytes,
    signal,
    mustExist,
    log: (line, level) => logger[level]({ context: 'postgres' }, line),
  });
  DISK_WATCH.answer(() => postgres.disk.progress);
  ROOM_TO_ERASE.answer(() => postgres.disk.roomToErase);
  ROOM_IN_FILES.answer(() => postgres.disk.reuse());
  logger.info(`PostgreSQL keeps its data in ${postgres.folder}`);
  return postgres;
}

/** Connects, waiting for a database that is not up yet. */
export async function connect(url: string, session = SESSION): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(url, session));
  const deadline = Date.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      await dataSource.initialize();
      break;
    } catch (error) {
      if (!isWorthWaiting(error) || Date.now() > deadline) throw databaseError(error);
      logger.warn(`waiting for the database: ${(error as Error).message}`);
      await sleep(1000);
    }
  }
  await assertSessionsLast(driverPool(dataSource));
  return dataSource;
}

const driverPool = ({ driver }: DataSource) => (driver as PostgresDriver).master as Pool;

/** A server that starts, stops or is full may take us later; a wrong password or name it never will. */
function isWorthWaiting(error: unknown): boolean {
  const { severity, code } = error as { severity?: string; code?: string };
  return severity ? /^(57P0|53)/.test(code ?? '') : isConnectionError(error);
}

function databaseError(error: unknown): unknown {
  if (!config.databaseUrl) return error;
  return new InvalidSetting(
    `DATABASE_URL does not lead to a database: ${(error as Error).message}`,
  );
}

/** Opens the database, brings its schema up to date, listens, and stops all of it in the right order. */
export async function serve(request: StopRequest): Promise<void> {
  if (cluster.isWorker) return serveAsWorker();
  logBuild();
  assertBootstrapKey(config.bootstrapApiKey);
  if (config.isUnderNpm) whenOrphaned(() => request.stop('npm ended', 0));
  await assertFree(config).catch((error: unknown) => explainListening(error));
  for (const { name, meant } of misspelt())
    logger.warn(`${name} is no setting, and is not read: ${meant} is one`);
  const opened = await openPostgres(config, { signal: request.signal });
  const postgres = withWal(opened);
  try {
    const { service, listeners } = await request.during(start(postgres, request));
    whenStopped(request, async () => {
      service.startDraining();
      await sleep(config.shutdownDelaySeconds * 1000);
      await service.closeKept();
      await Promise.all(listeners.map((listener) => listener.close()));
      await service.close();
      await postgres.stop();
    });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** Its log is stored from the start to the end of the server, should BACKUP_WAL say so. */
function withWal(postgres: Postgres): Postgres {
  const { backupUrl, isWalKept, s3, backupRecipients, backupEverySeconds } = config;
  if (!isWalKept || backupUrl === undefined || postgres.folder === undefined) return postgres;
  const wal = new WalKeeper(postgres.folder, {
    place: placeAt(backupUrl, s3),
    recipients: backupRecipients,
    everySeconds: backupEverySeconds,
    makeBase: (signal) => runBackup('--base', signal),
    warn: (line) => logger.warn({ context: 'backup' }, line),
  });
  wal.start();
  const stop = async () => {
    wal.endBases();
    await postgres.stop();
    await wal.stop();
  };
  return { ...postgres, stop };
}

async function start(postgres: Postgres, request: StopRequest) {
  let service: Service | undefined;
  const starting = new Starting();
  const listener = new Listener((socket) => (service ?? starting).accept(socket));
  const listeners = [listener];
  const port = await listener
    .listen(config.port, config.host)
    .catch((error: unknown) => explainListening(error));
  try {
    const dataSource = await openSchema(postgres);
    service =
      config.workers > 1
        ? await startWorkers(postgres, request)
        : await openService(dataSource, config);
    starting.close();
    if (config.operationsPort !== undefined)
      listeners.push(await listenForOperations(service, config.operationsPort));
    // The key is made once the address is ours: it is shown once, and must not be lost to a failed start.
    await welcome(port, dataSource);
    if (config.workers > 1)
      await dataSource.destroy(); // only the workers serve requests
    else request.reload = () => logger.warn(NO_RELOAD);
    return { service, listeners };
  } catch (error) {
    await listener.close();
    service?.startDraining();
    await service?.close(); // else its background work fails, each part with an error, when PostgreSQL ends
    throw error;
  }
}

/** Connects to a database that can serve, and brings its schema up to date. */
async function openSchema({ url }: Postgres): Promise<DataSource> {
  const dataSource = await connect(url);
  const settings = await serverSettings(driverPool(dataSource));
  assertConnectionsSuffice(settings, config);
  const warning = config.databaseUrl && durabilityWarning(settings);
  if (warning) logger.warn(warning);
  for (const name of await migrate(dataSource, config)) logger.info(`migrated to ${name}`);
  return dataSource;
}

async function listenForOperations(service: Service, wanted: number): Promise<Listener> {
  const listener = new Listener((socket) => service.accept(socket, true));
  const port = await listener
    .listen(wanted, config.host)
    .catch((error: unknown) => explainListening(error, 'OPERATIONS_PORT', wanted));
  logger.info(`operations are answered on ${serviceUrl({ ...config, port })}`);
  return listener;
}

/** In a worker too: a reload may have brought another build. */
function logBuild(): void {
  const build = describeBuild({ options: dataSourceOptions('') });
  logger.info(`${build}, Node ${process.version}`);
}

const NO_RELOAD =
  'SIGHUP replaces workers one by one, and WORKERS=1 has none: nothing was done. Set WORKERS=2 or more, or restart';

async function startWorkers({ url }: Postgres, request: StopRequest): Promise<Workers> {
  makeRates(config);
  const workers = new Workers(config.workers, url);
  await workers.start();
  request.reload = () => void workers.reload();
  return workers;
}

/** One of several processes behind one port. Ends with the primary. */
async function serveAsWorker(): Promise<void> {
  logBuild();
  const dataSource = await connect(config.databaseUrl!);
  // A worker may be of a newer build than the primary, which has opened the database.
  for (const name of await migrate(dataSource, config)) logger.info(`migrated to ${name}`);
  const service = await openService(dataSource, config);
  serveAsTold(service, () => exitAfter(service.close(), 0));
}

function whenStopped({ signal }: StopRequest, stop: () => Promise<void>): void {
  const onAbort = () => {
    const { why, exitCode } = signal.reason as Stopped;
    logger.info(`${why}: finishing what is under way`);
    exitAfter(
      stop().then(() => logger.info('stopped')),
      exitCode,
    );
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
}

function exitAfter(stopped: Promise<void>, exitCode: number): void {
  stopped.then(
    () => process.exit(exitCode),
    (error: unknown) => {
      logger.fatal({ err: error }, 'could not stop cleanly');
      process.exit(1);
    },
  );
}

function explainListening(error: unknown, name = 'PORT', port = config.port): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE' || code === 'EACCES')
    throw new InvalidSetting(`${name} ${port} cannot be used (${code})`);
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL')
    throw new InvalidSetting(`HOST ${config.host} is no address of this machine (${code})`);
  throw error;
}

/** `kill` of `npm start` ends npm and its shell, and would leave us running without anybody to stop us. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, 200);
  timer.unref();
}

/** A login code opens everything for 15 minutes: it goes to a terminal, and into no log. */
async function wayIn(address: string, dataSource: DataSource): Promise<string> {
  const by = { keyId: null, userName: 'start of the service' };
  const code = process.stdout.isTTY && (await newLoginCode(new Database(dataSource, config), by));
  return code ? `\nConsole, with this link for 15 minutes: ${loginLink(address, code)}\n` : '';
}

/** Gives an empty database its first key, and says where the service listens. */
async function welcome(port: number, dataSource: DataSource): Promise<void> {
  const address = serviceUrl({ ...config, port });
  let greeting = '';
  await firstKey(dataSource, config, (secret) => {
    if (process.stdout.isTTY) greeting = greetingWith(secret, address);
    else keepFirstKey(secret, config.dataDir);
  });
  logger.info(`Skein listens on ${address}`);
  process.stdout.write(greeting + (await wayIn(address, dataSource)));
}

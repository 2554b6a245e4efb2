import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../ormconfig.js';
import {
  assertBootstrapKey,
  firstKey,
  firstKeyGreeting,
  keepFirstKey,
} from '../platform/auth/keys/first-key.js';
import { makeRateLimiters } from '../platform/auth/limits/rate-limits.js';
import { loginLink, newLoginCode } from '../platform/auth/sessions/sessions.service.js';
import { logger } from '../platform/process/logger.js';
import { startSelfTracing, stopSelfTracing } from '../platform/process/self-tracer.js';
import { OTLP_GRPC_PORT, serviceUrl } from '../platform/config/config.js';
import { InvalidSetting } from '../platform/config/setting.js';
import { Database } from '../platform/database/database.js';
import { migrate } from '../platform/database/migrate.js';
import { storageAt } from '../platform/backup/storage-location.js';
import { runBackup } from '../platform/backup/run-backup.js';
import { WalKeeper } from '../platform/backup/wal-keeper.js';
import { driverPool } from '../platform/pg/driver.js';
import { describeBuild } from '../platform/database/schema-state.js';
import {
  assertConnectionsSuffice,
  durabilityWarning,
  serverSettings,
} from '../platform/database/start-checks.js';
import { connectDatabase, openPostgres, type PostgresServer } from './database-connection.js';
import { assertFree, Listener } from './listener.js';
import { config, ownMisspeltSettings } from '../platform/config/process-config.js';
import type { RunningService } from './running-service.js';
import { StartupResponder } from './startup-responder.js';
import type { StopReason, StopRequest } from './stop-request.js';
import { servePrimary, Workers } from './workers.js';

/** Opens the database, migrates its schema and listens. Stops everything in the right order. */
export async function serve(request: StopRequest): Promise<void> {
  if (cluster.isWorker) return serveAsWorker();
  logBuild();
  assertBootstrapKey(config.bootstrapApiKey);
  if (config.isUnderNpm) whenOrphaned(() => request.stop('npm ended', 0));
  await assertFree(config).catch((error: unknown) => explainListening(error));
  const { operationsPort, otlpGrpcPort } = config;
  await assertPortFree('OPERATIONS_PORT', operationsPort);
  if (otlpGrpcPort !== OTLP_GRPC_PORT) await assertPortFree('OTLP_GRPC_PORT', otlpGrpcPort);
  for (const { name, meant } of ownMisspeltSettings())
    logger.warn(`${name} is not a setting and is ignored: did you mean ${meant}?`);
  const opening = openPostgres(config, { signal: request.signal });
  if (config.workers === 1) void loadService().catch(() => {}); // while PostgreSQL starts
  const postgres = withWal(await opening);
  try {
    const { service, listeners } = await request.during(start(postgres, request));
    whenStopped(request, async () => {
      service.startDraining();
      await sleep(config.shutdownDelaySeconds * 1000);
      await service.closeKept();
      await Promise.all(listeners.map((listener) => listener.close()));
      await service.close();
      await Promise.all([postgres.stop(), stopSelfTracing()]);
    });
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

async function assertPortFree(name: string, port: number | undefined): Promise<void> {
  if (port === undefined) return;
  const { host } = config;
  await assertFree({ port, host }).catch((error: unknown) => explainListening(error, name, port));
}

/**
 * Loads the application, which is half of the code and takes a second. The primary of several processes does not need
 * it.
 */
const loadService = () => import('./running-service.js');

/** Archives the WAL of the embedded server from its start to its end, if BACKUP_WAL is set. */
function withWal(postgres: PostgresServer): PostgresServer {
  const { backupUrl, isWalKept, s3, backupRecipients, backupEverySeconds } = config;
  if (!isWalKept || backupUrl === undefined || postgres.folder === undefined) return postgres;
  const wal = new WalKeeper(postgres.folder, {
    place: storageAt(backupUrl, s3),
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

async function start(postgres: PostgresServer, request: StopRequest) {
  let service: RunningService | undefined;
  const starting = new StartupResponder();
  let accepting: Pick<RunningService, 'accept'> = starting;
  const listener = new Listener((socket) => accepting.accept(socket));
  const listeners = [listener];
  const port = await listener
    .listen(config.port, config.host)
    .catch((error: unknown) => explainListening(error));
  try {
    // Loading keeps the process busy, for seconds on a busy machine. A connection begun meanwhile would time out.
    if (config.workers === 1) await loadService();
    const dataSource = await openSchema(postgres);
    service =
      config.workers > 1
        ? await startWorkers(postgres, request)
        : await openTracedService(dataSource);
    if (config.operationsPort !== undefined)
      listeners.push(await listenForOperations(service, config.operationsPort));
    if (config.otlpGrpcPort !== undefined) {
      const grpc = await listenForGrpc(service, config.otlpGrpcPort);
      if (grpc) listeners.push(grpc);
    }
    // The key is made once the ports are open, because it is shown only once and a failed start would lose it. Requests
    // are accepted afterwards, so the first one finds it.
    const address = serviceUrl({ ...config, port });
    const greeting = await greetingWithKey(address, dataSource);
    accepting = service;
    starting.close();
    logger.info(`Skein listens on ${address}`);
    process.stdout.write(greeting + (await loginGreeting(address, dataSource)));
    if (config.workers > 1)
      await dataSource.destroy(); // only the workers serve requests
    else request.reload = () => logger.warn(NO_RELOAD);
    return { service, listeners };
  } catch (error) {
    await listener.close();
    service?.startDraining();
    await service?.close(); // otherwise its background work fails when PostgreSQL ends, each part with an error
    throw error;
  }
}

/** Connects to a database that fulfils the requirements, and migrates its schema. */
async function openSchema({ url }: PostgresServer): Promise<DataSource> {
  const dataSource = await connectDatabase(url);
  const settings = await serverSettings(driverPool(dataSource));
  assertConnectionsSuffice(settings, config);
  const warning = config.databaseUrl && durabilityWarning(settings);
  if (warning) logger.warn(warning);
  for (const name of await migrate(dataSource, config)) logger.info(`migrated to ${name}`);
  return dataSource;
}

async function listenForOperations(service: RunningService, wanted: number): Promise<Listener> {
  const listener = new Listener((socket) => service.accept(socket, 'operations'));
  const port = await listener
    .listen(wanted, config.host)
    .catch((error: unknown) => explainListening(error, 'OPERATIONS_PORT', wanted));
  logger.info(`operations are answered on ${serviceUrl({ ...config, port })}`);
  return listener;
}

/** Listens for gRPC. If another program (often a collector) uses the default port, the service continues without it. */
async function listenForGrpc(
  service: RunningService,
  wanted: number,
): Promise<Listener | undefined> {
  const listener = new Listener((socket) => service.accept(socket, 'grpc'));
  try {
    const port = await listener.listen(wanted, config.host);
    logger.info(`OTLP over gRPC is accepted on ${serviceUrl({ ...config, port })}`);
    return listener;
  } catch (error) {
    if (wanted !== OTLP_GRPC_PORT) explainListening(error, 'OTLP_GRPC_PORT', wanted);
    logger.warn(
      `OTLP over gRPC is not accepted: port ${wanted} cannot be used (${(error as NodeJS.ErrnoException).code}). Set OTLP_GRPC_PORT to another port, or to off`,
    );
    return undefined;
  }
}

/** Logs the build, also in workers: a reload may have started another build. */
function logBuild(): void {
  const build = describeBuild({ options: dataSourceOptions('') });
  logger.info(`${build}, Node ${process.version}`);
}

const NO_RELOAD =
  'SIGHUP replaces workers one by one, and WORKERS=1 has none: nothing was done. Set WORKERS=2 or more, or restart';

async function startWorkers({ url }: PostgresServer, request: StopRequest): Promise<Workers> {
  makeRateLimiters(config);
  const workers = new Workers(config.workers, url);
  await workers.start();
  request.reload = () => void workers.reload();
  return workers;
}

async function openTracedService(dataSource: DataSource) {
  await startSelfTracing(config);
  const { openService } = await loadService();
  return openService(dataSource, config);
}

/** Serves as one of several processes behind one port. Ends with the primary. */
async function serveAsWorker(): Promise<void> {
  logBuild();
  const dataSource = await connectDatabase(config.databaseUrl!);
  // A worker may be of a newer build than the primary, which has opened the database.
  for (const name of await migrate(dataSource, config)) logger.info(`migrated to ${name}`);
  const service = await openTracedService(dataSource);
  servePrimary(service, () => exitAfter(service.close().then(stopSelfTracing), 0));
}

function whenStopped({ signal }: StopRequest, stop: () => Promise<void>): void {
  const onAbort = () => {
    const { why, exitCode } = signal.reason as StopReason;
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
    throw new InvalidSetting(`HOST ${config.host} is not an address of this machine (${code})`);
  throw error;
}

/**
 * Calls `stop` when the parent process has ended. `kill` of `npm start` ends npm and its shell, but not this process.
 */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, 200);
  timer.unref();
}

/** Returns a login link for terminals. A login code gives full access for 15 minutes, so it goes into no log. */
async function loginGreeting(address: string, dataSource: DataSource): Promise<string> {
  const by = { keyId: null, userName: 'start of the service' };
  const code = process.stdout.isTTY && (await newLoginCode(new Database(dataSource, config), by));
  return code ? `\nConsole, with this link for 15 minutes: ${loginLink(address, code)}\n` : '';
}

/** Gives an empty database its first key. Returns the text for a terminal. */
async function greetingWithKey(address: string, dataSource: DataSource): Promise<string> {
  let greeting = '';
  await firstKey(dataSource, config, (secret) => {
    if (process.stdout.isTTY) greeting = firstKeyGreeting(secret, address);
    else keepFirstKey(secret, config.dataDir);
  });
  return greeting;
}

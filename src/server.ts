import cluster from 'node:cluster';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { dataSourceOptions } from '../ormconfig.js';
import { createApp } from './app.js';
import { assertBootstrapKey, firstKey } from './auth/bootstrap.js';
import { isConnectionError } from './common/errors.js';
import { logger } from './common/logger.js';
import { type Config, config, InvalidSetting } from './config.js';
import { openEmbeddedPostgres } from './postgres/embedded-postgres.js';
import { SESSION } from './database/limits.js';
import { migrate } from './database/migrate.js';
import {
  assertConnectionsSuffice,
  assertSessionsLast,
  durabilityWarning,
  serverSettings,
} from './database/start-checks.js';
import { ReadinessService } from './operations/readiness.service.js';
import { Workers } from './workers.js';

/** An external database that is still starting is waited for this long. */
const DATABASE_PATIENCE_MS = 60_000;
/** Requests that have not ended this long after SIGTERM are cut. */
const DRAIN_MS = 30_000;
const CLOSE_IDLE_MS = 100;

/** The database the settings ask for. */
export interface Postgres {
  url: string;
  /** Ends the embedded server; an external one is left alone. */
  stop(): Promise<void>;
  /** Resolves when the embedded server has ended; never for an external one. */
  exited: Promise<void>;
}

export async function openPostgres({
  databaseUrl,
  dataDir,
  postgresFlags,
}: Config): Promise<Postgres> {
  if (databaseUrl) return { url: databaseUrl, stop: async () => {}, exited: new Promise(() => {}) };
  const postgres = await openEmbeddedPostgres({
    dataDir,
    flags: postgresFlags,
    log: (line) => logger.debug({ context: 'postgres' }, line),
    warn: (line) => logger.warn(line),
  });
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
  await assertSessionsLast(poolOf(dataSource));
  return dataSource;
}

const poolOf = ({ driver }: DataSource) => (driver as PostgresDriver).master as Pool;

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
export async function serve(): Promise<void> {
  if (cluster.isWorker) return serveAsWorker();
  assertBootstrapKey(config.bootstrapApiKey);
  const postgres = await openPostgres(config);
  try {
    const dataSource = await connect(postgres.url);
    const settings = await serverSettings(poolOf(dataSource));
    assertConnectionsSuffice(settings, config);
    const warning = config.databaseUrl && durabilityWarning(settings);
    if (warning) logger.warn(warning);
    for (const name of await migrate(dataSource)) logger.info(`migrated to ${name}`);
    // The key is made once the address is known to be free: it is printed once, and must not be lost to a failed start.
    const { port, stopFor } =
      config.workers > 1
        ? await startWorkers(postgres)
        : await listen(dataSource, () => postgres.stop());
    welcome(port, await firstKey(dataSource, config.bootstrapApiKey));
    if (config.workers > 1) await dataSource.destroy(); // only the workers serve requests
    void postgres.exited.then(() => stopFor('PostgreSQL ended', 1));
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** One of several processes behind one port; the primary has opened the database. Ends with the primary. */
async function serveAsWorker(): Promise<void> {
  const { stopFor } = await listen(await connect(config.databaseUrl!), async () => {});
  process.once('disconnect', () => stopFor('the primary process ended', 1));
}

async function startWorkers(postgres: Postgres) {
  const workers = new Workers(config.workers, postgres.url);
  const stopFor = stopOnSignal(async () => {
    await workers.stop();
    await postgres.stop();
  });
  return { port: await workers.start(), stopFor };
}

/** Serves until a signal, then `afterwards`. */
async function listen(dataSource: DataSource, afterwards: () => Promise<void>) {
  const app = await createApp(dataSource);
  const server = app.getHttpServer();
  const stopFor = stopOnSignal(async () => {
    app.get(ReadinessService).startDraining();
    // A connection that is kept alive is closed with its last answer, or now; those that do not end are cut.
    const close = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS);
    const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    await app.close(); // waits for requests, then for the write queue, then closes the pool
    clearInterval(close);
    clearTimeout(cut);
    await afterwards();
  });
  try {
    await app.listen(config.port, config.host);
  } catch (error) {
    throw listenError(error);
  }
  return { port: (server.address() as AddressInfo).port, stopFor };
}

function listenError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE' || code === 'EACCES')
    return new InvalidSetting(`PORT ${config.port} cannot be used (${code})`);
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL')
    return new InvalidSetting(`HOST ${config.host} is no address of this machine (${code})`);
  return error;
}

type StopFor = (why: string, exitCode: number) => void;

/** The first reason to stop counts: a signal, or what is passed to the function that comes back. */
function stopOnSignal(stop: () => Promise<void>): StopFor {
  let isStopping = false;
  const stopFor: StopFor = (why, exitCode) => {
    if (isStopping) return;
    isStopping = true;
    logger.info(`${why}: finishing what is under way`);
    stop().then(
      () => {
        logger.info('stopped');
        process.exit(exitCode);
      },
      (error: unknown) => {
        logger.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopFor(signal, 0));
  if (config.isUnderNpm) whenOrphaned(() => stopFor('npm ended', 0));
  return stopFor;
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

/** The first start prints the key it made, once, with a request that works as it stands. It goes to no log. */
function welcome(port: number, secret: string | null): void {
  const host = /^(0\.0\.0\.0|::1?)$/.test(config.host) ? '127.0.0.1' : config.host;
  const address = `http://${host}:${port}`;
  logger.info(`Skein listens on ${address}`);
  if (!secret) return;
  process.stdout.write(`
Skein made an admin key. It is shown this once:

  ${secret}

Record the start of a call:

  curl -s -u 'me:${secret}' -H 'Content-Type: application/json' ${address}/call/start \\
    -d '{"start":{"project_id":"acme/demo","op_name":"hello","started_at":"${new Date().toISOString()}","inputs":{"question":"What is a thread?"}}}'

API description: ${address}/docs
`);
}

import cluster from 'node:cluster';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../ormconfig.js';
import { createApp } from './app.js';
import { firstKey } from './auth/bootstrap.js';
import { isConnectionError } from './common/errors.js';
import { logger } from './common/logger.js';
import { type Config, config } from './config.js';
import { openEmbeddedPostgres } from './database/embedded-postgres.js';
import { migrate } from './database/migrate.js';
import { ReadinessService } from './operations/readiness.service.js';
import { Workers } from './workers.js';

/** An external database that is still starting is waited for this long. */
const DATABASE_PATIENCE_MS = 60_000;
/** Requests that have not ended this long after SIGTERM are cut. */
const DRAIN_MS = 30_000;

/** The database the settings ask for. */
export interface Postgres {
  url: string;
  /** Ends the embedded server; an external one is left alone. */
  stop(): Promise<void>;
  /** Resolves when the embedded server has ended; never for an external one. */
  exited: Promise<void>;
}

export async function openPostgres({ databaseUrl, dataDir }: Config): Promise<Postgres> {
  if (databaseUrl) return { url: databaseUrl, stop: async () => {}, exited: new Promise(() => {}) };
  const postgres = await openEmbeddedPostgres({
    dataDir,
    log: (line) => logger.debug({ context: 'postgres' }, line),
  });
  logger.info(`PostgreSQL keeps its data in ${postgres.folder}`);
  return postgres;
}

/** Connects, waiting for a database that is not up yet. */
export async function connect(url: string): Promise<DataSource> {
  const dataSource = new DataSource(dataSourceOptions(url));
  const deadline = Date.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      return await dataSource.initialize();
    } catch (error) {
      const isStarting = isConnectionError(error) || (error as { code?: string }).code === '57P03';
      if (!isStarting || Date.now() > deadline) throw error;
      logger.warn(`waiting for the database: ${(error as Error).message}`);
      await sleep(1000);
    }
  }
}

/** Opens the database, brings its schema up to date, listens, and stops all of it in the right order. */
export async function serve(): Promise<void> {
  if (cluster.isWorker) return serveAsWorker();
  const postgres = await openPostgres(config);
  try {
    const dataSource = await connect(postgres.url);
    for (const name of await migrate(dataSource)) logger.info(`migrated to ${name}`);
    const secret = await firstKey(dataSource, config.bootstrapApiKey);
    const port =
      config.workers > 1
        ? await startWorkers(dataSource, postgres)
        : await listen(dataSource, postgres);
    welcome(`http://${config.host}:${port}`, secret);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** One of several processes behind one port; the primary has opened the database. Ends with the primary. */
async function serveAsWorker(): Promise<void> {
  const exited = once(process, 'disconnect').then(() => {});
  await listen(await connect(config.databaseUrl!), { stop: async () => {}, exited });
}

async function startWorkers(dataSource: DataSource, postgres: Postgres): Promise<number> {
  await dataSource.destroy();
  const workers = new Workers(config.workers, postgres.url);
  stopOnSignal(async () => {
    await workers.stop();
    await postgres.stop();
  }, postgres.exited);
  return workers.start();
}

/** Serves until a signal, or the end of what it stands on. */
async function listen(
  dataSource: DataSource,
  { stop, exited }: Pick<Postgres, 'stop' | 'exited'>,
): Promise<number> {
  const app = await createApp(dataSource);
  stopOnSignal(async () => {
    app.get(ReadinessService).startDraining();
    const cut = setTimeout(() => app.getHttpServer().closeAllConnections(), DRAIN_MS);
    await app.close(); // waits for requests, then for the write queue, then closes the pool
    clearTimeout(cut);
    await stop();
  }, exited);
  await app.listen(config.port, config.host);
  return (app.getHttpServer().address() as AddressInfo).port;
}

/** The first reason to stop counts: a signal, or, with exit code 1, the end of what the process needs. */
function stopOnSignal(stop: () => Promise<void>, neededEnded: Promise<void>): void {
  let isStopping = false;
  const stopFor = (why: string, exitCode: number) => {
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
  void neededEnded.then(() => stopFor('the database or the primary process ended', 1));
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
function welcome(url: string, secret: string | null): void {
  const address = url.replace(/\/\/(0\.0\.0\.0|::1?|\[::1?\])(?=:\d+$)/, '//127.0.0.1');
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

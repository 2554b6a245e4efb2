import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { AggregatorRegistry } from 'prom-client';
import { logger } from '../platform/process/logger.js';
import { METRICS } from '../platform/operations/all-metrics.js';
import { answerWorkers } from '../platform/process/primary-question.js';
import { SharedAnswer } from '../platform/process/shared-answer.js';
import { config } from '../platform/config/process-config.js';
import type { PortKind, ReplaceableService, RunningService } from './running-service.js';

/** Time before a dead worker is replaced, so that one that cannot start does not loop without pause. */
const REPLACE_AFTER_MS = 1000;
/** Most connections that wait for a worker: as many as a listener's own backlog. */
const MAX_WAITING = 511;

/** Matches the line before the values of this metric. The primary inserts its own refusals after it. */
const REFUSED = /^# TYPE skein_connections_refused_total .*\n/m;

/** Messages with which the primary sends a connection to a worker, keyed by the port of the connection. */
const ACCEPT = { main: 'accept', operations: 'acceptOperations', grpc: 'acceptGrpc' } as const;
type Accept = (typeof ACCEPT)[PortKind];
/** Order of the primary to a worker: the name of the method to call, or the acceptance of a connection. */
type WorkerOrder = Accept | 'startDraining' | 'closeKept' | 'retire' | 'close';
type Report = 'ready' | 'keptClosed';

const isWorkerMessage = <T extends string>(message: unknown, about: T): message is { skein: T } =>
  (message as { skein?: unknown } | null)?.skein === about;

/**
 * Runs `WORKERS` processes that share the port. The primary opens the database, passes its URL to the workers, and
 * sends every connection to one of them in turn. It replaces workers that die, and keeps what only one process can
 * know: the metrics of all, and the use of limits by each key and address. It serves no request itself.
 *
 * A worker is sent one connection at a time, so that a busy worker holds none back from the others. Messages and
 * connections arrive in the order in which they were sent. A worker that is ordered to close therefore already has all
 * of its connections.
 */
export class Workers implements RunningService {
  private readonly aggregator = new AggregatorRegistry();
  private readonly starting = new Set<Worker>();
  /** Workers that get connections, the next one first. */
  private readonly turns: Worker[] = [];
  /** Workers to which a connection is being sent. */
  private readonly sending = new Set<Worker>();
  /** Connections that wait for a free worker, those of operations first. */
  private readonly waiting: { socket: Socket; order: Accept }[] = [];
  private refused = 0;
  private onNoneWaiting: (() => void) | undefined;
  /** Replaced workers that still have connections. */
  private readonly retired = new Set<Worker>();
  private isStopping = false;
  private reloads = Promise.resolve();

  constructor(
    private readonly count: number,
    private readonly databaseUrl: string,
  ) {
    const all = new SharedAnswer(() =>
      this.aggregator.clusterMetrics().catch((error: Error) => `# ${error.message}\n`),
    );
    METRICS.answer(async () => (await all.get()).replace(REFUSED, `$&${this.refusedLine}`));
    answerWorkers();
    cluster.on('message', (worker, message: unknown) => {
      if (!isWorkerMessage(message, 'ready')) return;
      this.starting.delete(worker);
      this.turns.push(worker);
      this.sendWaiting();
    });
    cluster.on('exit', (worker, code, signal) => {
      this.starting.delete(worker);
      this.dismiss(worker);
      const isExpected = this.retired.delete(worker) && code === 0;
      if (this.isStopping) return;
      logger[isExpected ? 'info' : 'error'](
        `worker ${worker.process.pid} ended with ${signal ?? code}`,
      );
      setTimeout(() => this.replaceDead(), REPLACE_AFTER_MS);
    });
  }

  /**
   * Starts all workers. Resolves when all of them accept connections.
   * @throws Error when a worker ends before that.
   */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.count }, () => this.startOne()));
  }

  accept(socket: Socket, port: PortKind = 'main'): void {
    if (this.waiting.length >= MAX_WAITING) this.refuse(socket);
    else if (port === 'operations') this.waiting.unshift({ socket, order: ACCEPT[port] });
    else this.waiting.push({ socket, order: ACCEPT[port] });
    this.sendWaiting();
  }

  private get refusedLine(): string {
    return `skein_connections_refused_total{limit="workers"} ${this.refused}\n`;
  }

  private refuse(socket: Socket): void {
    socket.destroy();
    if (this.refused++ % MAX_WAITING === 0)
      logger.warn(`${this.refused} connections were refused since the start: all workers are busy`);
  }

  private sendWaiting(): void {
    for (;;) {
      const free = this.turns.findIndex((worker) => !this.sending.has(worker));
      if (free < 0 || this.waiting.length === 0) break;
      const [worker] = this.turns.splice(free, 1) as [Worker];
      this.turns.push(worker);
      this.sending.add(worker);
      const { socket, order } = this.waiting.shift()!;
      worker.send({ skein: order }, socket, undefined, (error) => {
        if (error) socket.destroy();
        this.sending.delete(worker);
        this.sendWaiting();
      });
    }
    if (this.waiting.length === 0) this.onNoneWaiting?.();
  }

  startDraining(): void {
    this.isStopping = true;
    for (const worker of liveWorkers()) {
      if (this.turns.includes(worker) || this.retired.has(worker))
        sendOrder(worker, 'startDraining');
      else worker.process.kill('SIGKILL'); // it has no connection, and does not receive orders yet
    }
  }

  async closeKept(): Promise<void> {
    await Promise.all(
      liveWorkers().map((worker) => {
        sendOrder(worker, 'closeKept');
        return awaitReport(worker, 'keptClosed');
      }),
    );
  }

  async close(): Promise<void> {
    if (this.waiting.length > 0 && this.turns.length > 0)
      await new Promise<void>((resolve) => (this.onNoneWaiting = resolve));
    await Promise.all(liveWorkers().map(end));
  }

  /**
   * Replaces the workers one after the other. Resolves when all new workers get connections, or one cannot start. The
   * old workers end with their connections. A further reload waits for that, so each worker has at most two processes.
   */
  reload(): Promise<void> {
    return (this.reloads = this.reloads.then(() => this.replaceAll()));
  }

  private async replaceAll(): Promise<void> {
    if (this.retired.size > 0)
      logger.info(`waiting for the last connections of ${this.retired.size} replaced workers`);
    await Promise.all([...this.retired].map(awaitExit));
    if (this.isStopping) return;
    logger.info(`replacing ${this.turns.length} workers`);
    for (const old of this.turns.slice()) {
      try {
        await this.startOne();
      } catch (error) {
        if (!this.isStopping) logger.error(`${(error as Error).message}: the running workers stay`);
        return;
      }
      if (this.isStopping) return;
      if (!this.turns.includes(old)) continue; // it has died, and the new one is in its place
      this.dismiss(old);
      this.retired.add(old);
      sendOrder(old, 'retire');
    }
    logger.info('all workers were replaced');
  }

  /** Stops sending connections to the worker. */
  private dismiss(worker: Worker): void {
    const turn = this.turns.indexOf(worker);
    if (turn >= 0) this.turns.splice(turn, 1);
    if (this.turns.length === 0) this.onNoneWaiting?.();
  }

  private replaceDead(): void {
    while (!this.isStopping && this.starting.size + this.turns.length < this.count)
      this.fork({ ALLOW_NEWER_SCHEMA: '1' }); // a newer build may have migrated since, and this service continues
  }

  private async startOne(): Promise<void> {
    const worker = this.fork();
    await awaitReport(worker, 'ready');
    if (worker.isDead()) throw new Error('a worker could not start: see its message above');
  }

  private fork(env: Record<string, string> = {}): Worker {
    const worker = cluster.fork({
      ...env,
      DATABASE_URL: this.databaseUrl,
      DATABASE_URL_FILE: '',
      BACKUP_WAL: '0', // the primary archives the WAL
      BACKUP_WAL_FILE: '',
      DATABASE_PASSWORD: '',
      DATABASE_PASSWORD_FILE: '',
      BODY_BUDGET_BYTES: String(config.bodyBudgetBytes), // a worker does not know that PostgreSQL is embedded
      npm_lifecycle_event: '',
    });
    // Sending to a worker that has just died fails; its 'exit' event reports that.
    worker.on('error', () => {});
    this.starting.add(worker);
    return worker;
  }
}

const liveWorkers = () =>
  Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

function sendOrder(worker: Worker, order: WorkerOrder): void {
  if (worker.isConnected()) worker.send({ skein: order });
}

/** Resolves when the worker has sent the report, or has ended. */
function awaitReport(worker: Worker, report: Report): Promise<void> {
  return new Promise((resolve) => {
    if (worker.isDead()) return resolve();
    const onMessage = (message: unknown) => isWorkerMessage(message, report) && done();
    const done = () => {
      worker.off('message', onMessage);
      worker.off('exit', done);
      resolve();
    };
    worker.on('message', onMessage).on('exit', done);
  });
}

async function awaitExit(worker: Worker): Promise<void> {
  if (!worker.isDead()) await once(worker, 'exit');
}

function end(worker: Worker): Promise<void> {
  sendOrder(worker, 'close');
  return awaitExit(worker);
}

/**
 * Serves the primary's connections in a worker, until it is ordered to close or has retired. `close` is called once.
 */
export function servePrimary(service: ReplaceableService, close: () => void): void {
  let isClosing = false;
  const closeOnce = () => {
    if (!isClosing) close();
    isClosing = true;
  };
  process.on('message', (message: unknown, socket: Socket | undefined) => {
    // A message comes without its socket when the client has left meanwhile.
    for (const port of ['main', 'operations', 'grpc'] as const)
      if (socket && isWorkerMessage(message, ACCEPT[port])) service.accept(socket, port);
    if (isWorkerMessage(message, 'startDraining')) service.startDraining();
    else if (isWorkerMessage(message, 'closeKept'))
      void service.closeKept().then(() => process.send!({ skein: 'keptClosed' satisfies Report }));
    else if (isWorkerMessage(message, 'retire')) void service.retire().then(closeOnce);
    else if (isWorkerMessage(message, 'close')) closeOnce();
  });
  process.send!({ skein: 'ready' satisfies Report });
}

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import { logger } from './common/logger.js';
import { answer, answerWorkers } from './common/primary.js';

/** A worker that dies is replaced after this time, so that one that cannot start does not spin. */
const REPLACE_AFTER_MS = 1000;

/**
 * `WORKERS` processes that share the port: the primary opens the database, hands each its address, replaces those that
 * die, and answers what only it can know (metrics of all of them, what each key and address has used of its limits). It serves no request itself.
 */
export class Workers {
  private readonly aggregator = new AggregatorRegistry();
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly databaseUrl: string,
  ) {
    answer('metrics', () =>
      this.aggregator.clusterMetrics().catch((error: Error) => `# ${error.message}\n`),
    );
    answerWorkers();
    cluster.on('exit', (worker, code, signal) => {
      if (this.isStopping) return;
      logger.error(`worker ${worker.process.pid} ended with ${signal ?? code}: starting another`);
      setTimeout(() => this.isStopping || this.fork(), REPLACE_AFTER_MS);
    });
  }

  /** Resolves with the port when all of them listen. @throws when one ends before that. */
  async start(): Promise<number> {
    const ports = await Promise.all(
      Array.from({ length: this.count }, () => this.listening(this.fork())),
    );
    return ports[0]!;
  }

  /** Lets each finish what it has under way; resolves when all have ended. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const ended = once(worker, 'exit');
        worker.process.kill('SIGTERM');
        await ended;
      }),
    );
  }

  private fork(): Worker {
    return cluster.fork({ DATABASE_URL: this.databaseUrl, npm_lifecycle_event: '' });
  }

  private listening(worker: Worker): Promise<number> {
    return new Promise((resolve, reject) => {
      worker.once('listening', ({ port }) => resolve(port));
      worker.once('exit', () =>
        reject(new Error('a worker could not start; its message stands above')),
      );
    });
  }
}

import cluster from 'node:cluster';

/** Why the process ends, and with which exit code. */
export class StopReason extends Error {
  constructor(
    readonly why: string,
    readonly exitCode: number,
  ) {
    super(`${why}: the start was given up`);
  }
}

/**
 * Listens for the signals that end or renew the service, from its construction on: as process 1 of a container we
 * would ignore those that we have no handler for. The first reason to stop counts. A worker leaves signals to its
 * primary, since a terminal and a service manager send them to all processes of a group.
 */
export class StopRequest {
  private readonly controller = new AbortController();
  readonly signal: AbortSignal = this.controller.signal;
  /** The request that SIGHUP stands for, unless it means that the terminal is gone. */
  reload: () => void = () => {};

  constructor() {
    const onSignal = (why: string) => cluster.isWorker || this.stop(why, 0);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
    process.on('SIGHUP', (why) => (process.stdout.isTTY ? onSignal(why) : this.reload()));
  }

  stop(why: string, exitCode: number): void {
    this.controller.abort(new StopReason(why, exitCode));
  }

  /** Rejects with the reason as soon as there is one. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    let onAbort: (() => void) | undefined;
    const stopped = new Promise<never>((_, reject) => {
      onAbort = () => reject(this.signal.reason as StopReason);
      this.signal.addEventListener('abort', onAbort);
    });
    try {
      return await Promise.race([work, stopped]);
    } finally {
      this.signal.removeEventListener('abort', onAbort!);
    }
  }
}

import cluster from 'node:cluster';

export class StopReason extends Error {
  constructor(
    readonly why: string,
    readonly exitCode: number,
  ) {
    super(`${why}: the start was given up`);
  }
}

/**
 * Handles the signals that stop or renew the service, from its construction on. As process 1 of a container, the
 * process would ignore signals without a handler. The first reason to stop counts. A worker leaves signals to its
 * primary, because terminals and service managers send them to all processes of a group.
 */
export class StopRequest {
  private readonly controller = new AbortController();
  readonly signal: AbortSignal = this.controller.signal;
  /** Called on SIGHUP, except on a terminal, where SIGHUP means that the terminal is gone. */
  reload: () => void = () => {};

  constructor() {
    const onSignal = (why: string) => cluster.isWorker || this.stop(why, 0);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
    process.on('SIGHUP', (why) => (process.stdout.isTTY ? onSignal(why) : this.reload()));
  }

  stop(why: string, exitCode: number): void {
    this.controller.abort(new StopReason(why, exitCode));
  }

  /** Waits for the work. Rejects with the reason as soon as the process is to stop. */
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

import { setTimeout as delay } from 'node:timers/promises';
import type { TiedProcess } from './postgres-cluster.js';

const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 10_000;
/** After this time a server counts as running steadily. */
const STEADY_MS = 60_000;

/** A server that is restarted whenever it ends. */
export interface SupervisedServer {
  /** Resolves after `stop`, when the server has ended. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

/** Starts the server and waits until it is ready. `begun` is called with each process as soon as it exists. */
export type Start = (begun: (server: TiedProcess) => void) => Promise<TiedProcess>;

/**
 * Starts a server and restarts it when it was killed, or ended because its disk was full or read-only. The waits
 * between attempts grow. `end` makes a server end.
 * @throws Error when the first start fails
 */
export async function superviseServer(
  start: Start,
  end: (server: TiedProcess) => void,
  warn: (line: string) => void,
): Promise<SupervisedServer> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let latest: TiedProcess | undefined;
  const begun = (server: TiedProcess) => {
    latest = server;
    if (signal.aborted) end(server);
  };
  const keepUp = async (first: TiedProcess) => {
    let waitMs = FIRST_WAIT_MS;
    let since = performance.now();
    for (let server: TiedProcess | undefined = first; ;) {
      await server?.exited;
      if (signal.aborted) return;
      if (performance.now() - since > STEADY_MS) waitMs = FIRST_WAIT_MS;
      if (server) warn('PostgreSQL has ended unexpectedly and is started again');
      await delay(waitMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
      since = performance.now();
      try {
        server = await start(begun);
        warn('PostgreSQL runs again');
      } catch (error) {
        server = undefined;
        if (!signal.aborted)
          warn(`PostgreSQL could not be started, and is tried again: ${(error as Error).message}`);
      }
    }
  };
  const exited = keepUp(await start(begun));
  const stop = () => {
    stopping.abort();
    if (latest) end(latest);
    return exited;
  };
  return { exited, stop };
}

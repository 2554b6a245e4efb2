import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from 'react';
import { type Schema, send } from './client.ts';
import { Problem } from './problem.ts';

type Tick = Schema<'TickDto'>;
type ChangeKind = Tick['kinds'][number];

/** Without `kinds`, everything may have changed. */
type Listener = (kinds?: readonly ChangeKind[]) => void;

/** Pause before a stream is opened again. The service sends the same number to clients that it disconnects. */
const RETRY_MS = 2000;

const watched = new Map<string, { listeners: Set<Listener>; end: AbortController }>();

/** A message from the tab that has the stream of a project to the other tabs. */
interface TabMessage {
  project: string;
  kinds?: ChangeKind[];
  isConnected?: boolean;
}
const tabs = new BroadcastChannel('skein events');
tabs.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  if (data.isConnected !== undefined) noteConnection(data.project, data.isConnected);
  if (data.kinds) notifyListeners(data.project, data.kinds);
});

/** A stream without a byte for this long is dead: the service sends a heartbeat every 15 s. */
const SILENT_MS = 45_000;

/** Projects whose changes do not reach this browser at the moment. */
const disconnectedProjects = new Set<string>();
const onConnection = new Set<() => void>();

function noteConnection(project: string, isConnected: boolean): void {
  if (disconnectedProjects.has(project) !== isConnected) return;
  if (isConnected) disconnectedProjects.delete(project);
  else disconnectedProjects.add(project);
  for (const listener of onConnection) listener();
}

function connected(project: string, isConnected: boolean): void {
  if (disconnectedProjects.has(project) !== isConnected) return;
  noteConnection(project, isConnected);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
  tabs.postMessage({ project, isConnected } satisfies TabMessage);
}

/** True when changes of the project reach the page. It is true until a stream fails. */
export const useIsConnected = (project: string): boolean =>
  useSyncExternalStore(
    (listener) => {
      onConnection.add(listener);
      return () => onConnection.delete(listener);
    },
    () => !disconnectedProjects.has(project),
  );

/**
 * Calls `onTick` when data of these kinds may have changed in the project, at most four times a second. A tick also
 * comes after an interruption, when the tab becomes visible again, and once a minute. While a promise that `onTick`
 * returned is pending, it is not called. It is called once afterwards when a tick came meanwhile.
 */
export function useLive(
  project: string | undefined,
  kinds: readonly ChangeKind[],
  onTick: () => unknown,
): void {
  const state = useRef<'idle' | 'busy' | 'again'>('idle');
  const call = useEffectEvent(() => onTick());
  const tick = useEffectEvent(async (changed?: readonly ChangeKind[]) => {
    if (changed && !kinds.some((kind) => changed.includes(kind))) return;
    if (state.current !== 'idle') {
      state.current = 'again';
      return;
    }
    do {
      state.current = 'busy';
      try {
        await call();
      } catch {
        // the callee shows its own errors; the next tick tries again
      }
    } while ((state.current as string) === 'again');
    state.current = 'idle';
  });
  useEffect(() => {
    if (project === undefined) return;
    return listen(project, (changed) => void tick(changed));
  }, [project]);
}

function notifyListeners(project: string, kinds?: readonly ChangeKind[]): void {
  for (const listener of watched.get(project)?.listeners ?? []) listener(kinds);
}

function listen(project: string, listener: Listener): () => void {
  const known = watched.get(project);
  const { listeners, end } = known ?? { listeners: new Set(), end: new AbortController() };
  listeners.add(listener);
  if (!known) {
    watched.set(project, { listeners, end });
    void watch(project, end.signal);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    if (watched.get(project)?.end === end) watched.delete(project);
    end.abort();
  };
}

/**
 * Follows a project until no listener is left in this tab, or the service refuses.
 *
 * One tab has the stream of a project for all tabs, since a browser opens six connections to a host over HTTP/1.1. Only
 * visible tabs take part. A tab that becomes visible again notifies its listeners that everything may have changed.
 */
async function watch(project: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const hidden = visibilitySignal(false, signal);
    const isRefused = await withProjectLock(project, hidden, () => readTicks(project, hidden));
    if (isRefused) {
      watched.delete(project); // the next listener tries again
      return;
    }
    const seen = visibilitySignal(true, signal);
    if (!seen.aborted) await new Promise((resolve) => seen.addEventListener('abort', resolve));
    if (!signal.aborted) notifyListeners(project);
  }
}

/**
 * Returns a signal that aborts when the tab becomes visible (`seen`) or hidden, at once if it is so, or with `signal`.
 */
function visibilitySignal(seen: boolean, signal: AbortSignal): AbortSignal {
  const changed = new AbortController();
  const check = () => {
    if ((document.visibilityState === 'visible') === seen) changed.abort();
  };
  const either = AbortSignal.any([signal, changed.signal]);
  document.addEventListener('visibilitychange', check, { signal: either });
  check();
  return either;
}

/**
 * Runs the work when no other tab has the stream of the project. Browsers offer locks only over TLS or on localhost:
 * elsewhere each tab has a stream of its own.
 */
async function withProjectLock<T>(
  project: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  if (!('locks' in navigator)) return work();
  try {
    return await navigator.locks.request(`skein events ${project}`, { signal }, work);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Reads the stream. Returns true when the service refuses it. An `EventSource` cannot send the console's header. */
async function readTicks(project: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      for await (const kinds of ticks(project, signal)) {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
        tabs.postMessage({ project, kinds } satisfies TabMessage);
        notifyListeners(project, kinds);
      }
    } catch (error) {
      if (error instanceof Problem && [400, 401, 403].includes(error.status)) return true;
    }
    if (!signal.aborted) connected(project, false);
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  return false;
}

async function* ticks(project: string, signal: AbortSignal): AsyncGenerator<ChangeKind[]> {
  const path = `/events?project_id=${encodeURIComponent(project)}`;
  const silent = new AbortController();
  const { body } = await send('GET', path, { signal: AbortSignal.any([signal, silent.signal]) });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  connected(project, true);
  for (let rest = ''; ;) {
    const timer = setTimeout(() => silent.abort(), SILENT_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield (JSON.parse(data) as Tick).kinds;
    }
  }
}

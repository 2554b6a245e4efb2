import { useEffect, useEffectEvent } from 'react';
import { send } from './client.ts';
import { Problem } from './problem.ts';

/** What of a project has changed. */
export type Kind = 'calls' | 'feedback' | 'objects' | 'costs' | 'models' | 'jobs' | 'builds';

type Listener = (kinds: readonly Kind[]) => void;

/** The service says the same to clients that it sends away. */
const RETRY_MS = 2000;

/** One stream for each project that somebody listens to. */
const streams = new Map<string, { listeners: Set<Listener>; end: AbortController }>();

/**
 * Calls `onTick` when something of these kinds may have changed in the project, at most four times a second. A tick also
 * comes at first, after an interruption, and once a minute.
 */
export function useLive(
  project: string | undefined,
  kinds: readonly Kind[],
  onTick: () => void,
): void {
  const tick = useEffectEvent((changed: readonly Kind[]) => {
    if (kinds.some((kind) => changed.includes(kind))) onTick();
  });
  useEffect(() => {
    if (project === undefined) return;
    return listen(project, (changed) => tick(changed));
  }, [project]);
}

function listen(project: string, listener: Listener): () => void {
  const stream = streams.get(project) ?? { listeners: new Set(), end: new AbortController() };
  const { listeners, end } = stream;
  listeners.add(listener);
  if (!streams.has(project)) {
    streams.set(project, stream);
    void watch(project, listeners, end.signal);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    streams.delete(project);
    end.abort();
  };
}

/** Until nobody listens any more, or the service refuses. Not an `EventSource`: that cannot say that it is the console's. */
async function watch(
  project: string,
  listeners: Set<Listener>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const kinds of ticks(project, signal))
        for (const listener of listeners) listener(kinds);
    } catch (error) {
      if (error instanceof Problem && [400, 401, 403].includes(error.status)) {
        streams.delete(project); // the next one that listens asks again
        return;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function* ticks(project: string, signal: AbortSignal): AsyncGenerator<Kind[]> {
  const path = `/events?project_id=${encodeURIComponent(project)}`;
  const { body } = await send('GET', path, { signal });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield (JSON.parse(data) as { kinds: Kind[] }).kinds;
    }
  }
}

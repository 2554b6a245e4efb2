import { useEffect, useEffectEvent } from 'react';

/** What of a project has changed. */
export type Kind = 'calls' | 'feedback' | 'objects' | 'training';

const EVERY_MS = 500;

/**
 * Calls `onTick` when something of the kind may have changed in the project, while the page is looked at. It asks again
 * at short intervals; what `onTick` does must be cheap when nothing has changed.
 */
export function useLive(project: string | undefined, kind: Kind, onTick: () => void): void {
  const tick = useEffectEvent(onTick);
  useEffect(() => {
    if (project === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') tick();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [project, kind]);
}

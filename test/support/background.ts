import { until } from './until.js';

/** The values that `/metrics` shows of background tasks, by task; of their runs those with one outcome. */
export async function byWork(
  url: string,
  metric: string,
  outcome = 'done',
): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = new RegExp(`^${metric}\\{work="([^"]+)"(?:,outcome="${outcome}")?\\} (\\S+)$`, 'gm');
  return new Map([...text.matchAll(line)].map(([, work, value]) => [work!, Number(value)]));
}

/** Waits until the schedule has begun a run of the task after now, and the run has ended so. */
export async function ran(url: string, work: string, outcome?: 'done' | 'failed'): Promise<void> {
  const runs = async () =>
    (await byWork(url, 'skein_background_runs_total', outcome)).get(work) ?? 0;
  const before = await runs();
  await until(async () => (await runs()) > before + 1); // one may have been under way
}

import { until } from './until.js';

/** Values of a metric of background tasks, keyed by task. Metrics of runs are limited to one outcome. */
export async function byWork(
  url: string,
  metric: string,
  outcome = 'done',
): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = new RegExp(`^${metric}\\{work="([^"]+)"(?:,outcome="${outcome}")?\\} (\\S+)$`, 'gm');
  return new Map([...text.matchAll(line)].map(([, work, value]) => [work!, Number(value)]));
}

/** Waits until a run of the task has begun after now and has ended with the outcome. */
export async function ran(url: string, work: string, outcome?: 'done' | 'failed'): Promise<void> {
  const runs = async () =>
    (await byWork(url, 'skein_background_runs_total', outcome)).get(work) ?? 0;
  const before = await runs();
  await until(async () => (await runs()) > before + 1); // the first one may have begun before
}

import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';

/** What `GET /metrics` shows of this process. */
export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });

/** Registers a metric that was made with `registers: []`; it replaces that of another app in this process. */
export function show<M extends Metric>(metric: M): M {
  metrics.removeSingleMetric((metric as unknown as { name: string }).name);
  metrics.registerMetric(metric);
  return metric;
}

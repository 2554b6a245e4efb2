import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';

/** What `GET /metrics` shows of this process. */
export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });

/** Shows a metric, made with `registers: []`, in place of the one that another app of this process has shown. */
export function show<M extends Metric>(metric: M): M {
  metrics.removeSingleMetric((metric as unknown as { name: string }).name);
  metrics.registerMetric(metric);
  return metric;
}

import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from 'prom-client';

/** What `GET /metrics` shows of this process. */
export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });

/** Registers a metric that was made with `registers: []`; it replaces that of another app in this process. */
export function show<M extends Metric>(metric: M): M {
  metrics.removeSingleMetric((metric as unknown as { name: string }).name);
  metrics.registerMetric(metric);
  return metric;
}

export const showCounter = <Label extends string>(
  name: string,
  help: string,
  labelNames: Label[],
): Counter<Label> => show(new Counter({ name, help, labelNames, registers: [] }));

/** A number that is read whenever the metrics are asked for. */
export const showNumber = (name: string, help: string, read: () => number): Gauge =>
  show(
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(read());
      },
    }),
  );

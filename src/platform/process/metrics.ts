import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });
// `promtool check metrics` rejects a gauge whose name ends in `_total`. These are the sums over the types.
for (const what of ['handles', 'requests', 'resources'])
  metrics.removeSingleMetric(`nodejs_active_${what}_total`);

/** Removes the metric of another app in this process with the same name. */
function metricOptions(name: string, help: string) {
  metrics.removeSingleMetric(name);
  return { name, help, registers: [metrics] };
}

export const registerCounter = <Label extends string>(
  name: string,
  help: string,
  labelNames: Label[],
) => new Counter({ ...metricOptions(name, help), labelNames });

/**
 * Registers a number that is read at each scrape; null omits it. `aggregator` combines the numbers of several workers.
 */
export const registerGauge = (
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
  aggregator: Aggregator = 'sum',
) =>
  new Gauge({
    ...metricOptions(name, help),
    aggregator,
    async collect() {
      const number = await read();
      if (number === null) this.remove();
      else this.set(number);
    },
  });

/** Registers several numbers, keyed by the value of a label. */
export const registerLabelledGauge = (
  name: string,
  help: string,
  { label, aggregator = 'sum' }: { label: string; aggregator?: Aggregator },
  read: () => Record<string, number> | Promise<Record<string, number>>,
) =>
  new Gauge({
    ...metricOptions(name, help),
    labelNames: [label],
    aggregator,
    async collect() {
      const numbers = Object.entries(await read());
      this.reset(); // removes values of the label that are no longer read
      for (const [value, number] of numbers) this.set({ [label]: value }, number);
    },
  });

/** Registers constant facts of the process as labels. Workers with the same facts appear once. */
export const registerInfo = (name: string, help: string, labels: Record<string, string>) =>
  new Gauge({
    ...metricOptions(name, help),
    labelNames: Object.keys(labels),
    aggregator: 'max',
  }).set(labels, 1);

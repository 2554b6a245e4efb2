import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/** What `GET /metrics` shows of this process. */
export const metrics = new Registry();
collectDefaultMetrics({ register: metrics });
// A total of a gauge is none by the rules of Prometheus (`promtool check metrics`); it is the sum over the types.
for (const what of ['handles', 'requests', 'resources'])
  metrics.removeSingleMetric(`nodejs_active_${what}_total`);

/** A metric replaces that of another app in this process. */
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
 * A number that is read whenever the metrics are asked for; null leaves it out. `aggregator` says what several workers answer
 * together.
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

/** The same for several numbers, by the value of a label. */
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
      for (const [value, number] of Object.entries(await read()))
        this.set({ [label]: value }, number);
    },
  });

/** What does not change while the process runs, as labels. Of workers that are the same, one is shown. */
export const registerInfo = (name: string, help: string, labels: Record<string, string>) =>
  new Gauge({
    ...metricOptions(name, help),
    labelNames: Object.keys(labels),
    aggregator: 'max',
  }).set(labels, 1);

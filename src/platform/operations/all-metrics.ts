import cluster from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import { metrics } from '../process/metrics.js';
import { Question } from '../process/primary.js';

if (cluster.isWorker) {
  AggregatorRegistry.setRegistries([metrics]);
  void new AggregatorRegistry(); // its constructor makes this process answer the primary
}
export const METRICS = new Question<string>('metrics');
METRICS.answer(() => metrics.metrics());

/** The metrics of the service: of this process, or, where workers share a port, of all of them, asked of the primary. */
export const allMetrics = async () => (await METRICS.ask())!;

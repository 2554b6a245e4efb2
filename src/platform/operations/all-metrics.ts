import cluster from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import { metrics } from '../process/metrics.js';
import { PrimaryQuestion } from '../process/primary-question.js';
import { SharedAnswer } from '../process/shared-answer.js';

if (cluster.isWorker) {
  AggregatorRegistry.setRegistries([metrics]);
  void new AggregatorRegistry(); // its constructor makes this process answer the primary
}
export const METRICS = new PrimaryQuestion<string>('metrics');
METRICS.answer(() => metrics.metrics());

const answer = new SharedAnswer(async () => (await METRICS.ask())!);

/**
 * The metrics of the service: of this process, or, where workers share a port, of all of them, asked of the primary. Those
 * who ask at a time share one answer.
 */
export const allMetrics = () => answer.get();

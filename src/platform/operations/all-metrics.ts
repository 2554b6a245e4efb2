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
 * Returns the metrics of this process. When workers share a port, the primary collects the metrics of all of them.
 * Concurrent requests share one answer.
 */
export const allMetrics = () => answer.get();

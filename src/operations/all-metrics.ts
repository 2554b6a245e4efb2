import cluster from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import { metrics } from '../common/edge.js';

interface MetricsRequest {
  skein: 'metrics';
  id: number;
}

export const isMetricsRequest = (message: unknown): message is MetricsRequest =>
  (message as Partial<MetricsRequest> | null)?.skein === 'metrics';

const waiting = new Map<number, (text: string) => void>();
let requests = 0;

if (cluster.isWorker) {
  AggregatorRegistry.setRegistries([metrics]);
  void new AggregatorRegistry(); // its constructor makes this process answer the primary
  process.on('message', (message: unknown) => {
    if (!isMetricsRequest(message)) return;
    waiting.get(message.id)?.((message as MetricsRequest & { text: string }).text);
    waiting.delete(message.id);
  });
}

/** The metrics of the service: of this process, or, where workers share a port, of all of them, asked of the primary. */
export function allMetrics(): Promise<string> {
  if (!cluster.isWorker) return metrics.metrics();
  return new Promise((resolve) => {
    const id = ++requests;
    waiting.set(id, resolve);
    process.send!({ skein: 'metrics', id } satisfies MetricsRequest);
  });
}

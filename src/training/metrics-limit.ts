import { ApiError } from '../platform/errors.js';

/** Limits of the metrics of one checkpoint. Lists of checkpoints contain all metrics. */
export const MAX_METRICS = 1000;
export const MAX_METRICS_BYTES = 65_536;

/** @throws ApiError `too_large` */
export function assertFewMetrics(names: number, bytes = 0): void {
  if (names > MAX_METRICS)
    throw new ApiError(
      'too_large',
      `metrics: a checkpoint has at most ${MAX_METRICS} names, and this makes ${names}`,
    );
  if (bytes > MAX_METRICS_BYTES)
    throw new ApiError(
      'too_large',
      `metrics: a checkpoint has at most ${MAX_METRICS_BYTES} bytes of them, and this makes ${bytes}`,
    );
}

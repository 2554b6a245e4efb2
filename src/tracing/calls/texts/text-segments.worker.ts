import { threadFile, WorkerThread } from '../../../platform/process/worker-thread.js';
import type { CallText, EncodedSegment, MergedSource } from './text-segment.js';

/** Encodes the texts of calls, or merges parts. */
export type SegmentJob =
  { calls: readonly CallText[] } | { sources: readonly MergedSource[]; bits: number };

/** Enough to decode 8 MiB of escapes, or to cut 8 MiB into grams that all differ. */
const MEMORY_MB = 256;

/** The thread that encodes segments. The indexer gives it one job at a time. */
export const segmentsThread = new WorkerThread<SegmentJob, EncodedSegment>(
  threadFile('text-segment.thread.js', import.meta.url),
  { memoryMb: MEMORY_MB, maxWaiting: { count: 100, weight: 1024 * 1024 * 1024 } },
);

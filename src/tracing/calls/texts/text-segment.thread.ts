import { answerJobs } from '../../../platform/process/worker-thread.js';
import { type EncodedSegment, encodeSegment, mergeParts } from './text-segment.js';
import type { SegmentJob } from './text-segments.worker.js';

answerJobs((job: SegmentJob): EncodedSegment =>
  'calls' in job
    ? encodeSegment(job.calls)
    : { bits: job.bits, parts: mergeParts(job.sources, job.bits) },
);

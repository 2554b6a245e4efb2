import { answerJobs } from '../../../platform/process/worker-thread.js';
import { encodeSegment, mergeParts } from './text-segment.js';
import type { SegmentAnswer, SegmentJob } from './text-segments.worker.js';

answerJobs((job: SegmentJob): SegmentAnswer =>
  'calls' in job
    ? encodeSegment(job.calls)
    : { bits: job.bits, parts: mergeParts(job.sources, job.bits) },
);

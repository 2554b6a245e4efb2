import { answerJobs } from '../../../platform/process/worker-thread.js';
import { objectDigest } from './digest.js';

answerJobs(objectDigest);

import { answerJobs } from '../common/worker-thread.js';
import { objectDigest } from './digest.js';

answerJobs(objectDigest);

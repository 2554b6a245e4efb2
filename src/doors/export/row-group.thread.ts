import { answerJobs } from '../../platform/process/worker-thread.js';
import { encodeRowGroup } from './row-group.js';

answerJobs(encodeRowGroup);

import { answerJobs } from '../../platform/process/worker-thread.js';
import { annotationProblems } from './annotation-schema.js';

// Compiling the first schema takes as long as a hundred later ones, so one is compiled in advance.
annotationProblems({ schemas: ['{"type":"object"}'], values: [{ schema: 0, text: '1' }] });

answerJobs(annotationProblems);

import { answerJobs } from '../../platform/process/worker-thread.js';
import { annotationProblems } from './annotation-schema.js';

// The first schema takes as long as a hundred later ones, so compile one before a client's.
annotationProblems({ schemas: ['{"type":"object"}'], values: [{ schema: 0, text: '1' }] });

answerJobs(annotationProblems);

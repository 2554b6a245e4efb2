import { ApiError } from '../../platform/errors.js';
import {
  OverBudget,
  threadFile,
  TimeUp,
  WorkerThread,
} from '../../platform/process/worker-thread.js';
import type { AnnotationValues, AnnotationProblem } from './annotation-schema.js';

/** Time to compile and run all schemas of a request. */
const TIMEOUT_MS = 250;
/**
 * Time budget of one key: four requests that reach the timeout, then one every five seconds. Ordinary values take less
 * than a tenth of a millisecond.
 */
const BUDGET_MS = { burst: 1000, perSecond: 50 };

const thread = new WorkerThread<AnnotationValues, AnnotationProblem[]>(
  threadFile('annotation-schema.thread.js', import.meta.url),
  {
    timeoutMs: TIMEOUT_MS,
    budgetMs: BUDGET_MS,
    memoryMb: 128,
    maxWaiting: { count: 1000, weight: 64 * 1024 * 1024 },
  },
);

/**
 * Runs `annotationProblems` in a thread, on the time budget of a key. After a timeout, every value has a problem.
 * @throws ApiError `rate_limited` when the key has used up its time
 */
export async function validateAnnotations(
  all: AnnotationValues,
  owner: string,
): Promise<AnnotationProblem[]> {
  if (all.values.length === 0) return [];
  try {
    const texts = [...all.schemas, ...all.values.map(({ text }) => text)];
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    return await thread.run(all, owner, length);
  } catch (error) {
    if (error instanceof OverBudget)
      throw new ApiError(
        'rate_limited',
        'the key has used all its time for schemas of annotations',
        { headers: { 'Retry-After': '5' } },
      );
    const { code } = error as { code?: unknown };
    if (!(error instanceof TimeUp) && code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    const limit = error instanceof TimeUp ? `within ${TIMEOUT_MS} ms` : 'in the memory there is';
    const message = `could not be checked against the schema of the annotation ${limit} for the whole request`;
    return all.values.map((_, at) => ({ at, message }));
  }
}

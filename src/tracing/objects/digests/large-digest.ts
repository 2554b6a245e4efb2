import { ApiError } from '../../../platform/errors.js';
import { TooDeep } from '../../../platform/json/json-grammar.js';
import { threadFile, WorkerThread } from '../../../platform/process/worker-thread.js';

/**
 * Length from which a digest is computed in a thread. Digesting this length takes a few milliseconds, and handing a
 * longer text to a thread costs less.
 */
const LARGE = 256 * 1024;
/** Enough for `MAX_NODES`, and for as many numbers as a request body can contain. */
const MEMORY_MB = 768;
const MAX_WAITING = { count: 1000, weight: 64 * 1024 * 1024 };

const thread = new WorkerThread<string, string>(threadFile('digest.thread.js', import.meta.url), {
  memoryMb: MEMORY_MB,
  maxWaiting: MAX_WAITING,
});

export const isLarge = (text: string): boolean => text.length > LARGE;

/**
 * Runs `objectDigest` in a thread, in which keys take turns.
 * @throws TooDeep
 * @throws ApiError `too_large`, `unavailable`
 */
export async function largeDigest(text: string, owner: string): Promise<string> {
  try {
    return await thread.run(text, owner, text.length);
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'TooDeep') throw new TooDeep();
    if (name === 'TooManyNodes') throw new ApiError('too_large', message);
    throw error;
  }
}

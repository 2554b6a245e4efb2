import { TooDeep } from '../common/json-text.js';
import { threadFile, WorkerThread } from '../common/worker-thread.js';

/** A value of this length takes a few milliseconds; handing it to a thread costs less beyond. */
const LARGE = 256 * 1024;
/** A text of 32 MiB may spell ten million values. */
const MEMORY_MB = 2048;

const thread = new WorkerThread<string, string>(threadFile('digest.thread.js', import.meta.url), {
  memoryMb: MEMORY_MB,
});

export const isLarge = (text: string): boolean => text.length > LARGE;

/** `objectDigest`, in a thread; keys take turns. @throws TooDeep */
export async function largeDigest(text: string, keyId: string): Promise<string> {
  try {
    return await thread.run(text, keyId);
  } catch (error) {
    throw (error as Error).name === 'TooDeep' ? new TooDeep() : error;
  }
}

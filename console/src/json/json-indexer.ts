import { InvalidJson, JsonIndex, jsonIndex, type JsonNodes } from './json-index.ts';

/** Characters of a text from which on indexing would block the page noticeably. */
const IN_WORKER = 1_000_000;

/**
 * Indexes a text. A long text is indexed in a worker.
 * @throws InvalidJson
 */
export function indexJson(text: string, signal?: AbortSignal): Promise<JsonIndex> {
  if (text.length <= IN_WORKER) return Promise.resolve().then(() => jsonIndex(text));
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./index.worker.ts', import.meta.url), { type: 'module' });
    const end = () => worker.terminate();
    signal?.addEventListener('abort', () => {
      end();
      reject(signal.reason as Error);
    });
    worker.addEventListener(
      'message',
      ({ data }: MessageEvent<{ nodes?: JsonNodes; error?: string }>) => {
        end();
        if (data.nodes) resolve(new JsonIndex(text, data.nodes));
        else reject(new InvalidJson(data.error));
      },
    );
    worker.addEventListener('error', ({ message }) => {
      end();
      reject(new InvalidJson(message));
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    worker.postMessage(text);
  });
}

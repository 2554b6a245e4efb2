import cluster from 'node:cluster';

/** A question of a worker to its primary, and the answer under the same id. */
interface Message {
  skein: 'question' | 'answer';
  id: number;
  about: string;
  value: unknown;
}

type Answer = (value: never) => unknown;

const answers = new Map<string, Answer>();
const waiting = new Map<number, (value: unknown) => void>();
let questions = 0;

if (cluster.isWorker)
  process.on('message', (message: Message) => {
    if (message?.skein !== 'answer') return;
    waiting.get(message.id)?.(message.value);
    waiting.delete(message.id);
  });

/** Registers the answer to a question: in the primary where workers share a port, else in this process. */
export function answer(about: string, by: Answer): void {
  answers.set(about, by);
}

/**
 * Asks the process that keeps the state for all workers. Undefined when it has no answer registered. A worker ends with its
 * primary, and its questions with it.
 */
export async function ask<T>(about: string, value?: unknown): Promise<T> {
  if (!cluster.isWorker) return (await answers.get(about)?.(value as never)) as T;
  return new Promise((resolve) => {
    const id = ++questions;
    waiting.set(id, resolve as (value: unknown) => void);
    process.send!({ skein: 'question', id, about, value } satisfies Message);
  });
}

/** In the primary: answers the questions of its workers. */
export function answerWorkers(): void {
  cluster.on('message', (worker, message: Message) => {
    if (message?.skein !== 'question') return;
    const { id, about, value: asked } = message;
    void Promise.resolve(answers.get(about)?.(asked as never)).then((value) => {
      if (worker.isConnected())
        worker.send({ skein: 'answer', id, about, value } satisfies Message);
    });
  });
}

import cluster from 'node:cluster';

/** A question of a worker to its primary, or the answer with the same id. */
interface Message {
  skein: 'question' | 'answer';
  id: number;
  about: string;
  value: unknown;
}

const answers = new Map<string, (value: never) => unknown>();
const waiting = new Map<number, (value: unknown) => void>();
let questions = 0;

if (cluster.isWorker)
  process.on('message', (message: Message) => {
    if (message?.skein !== 'answer') return;
    waiting.get(message.id)?.(message.value);
    waiting.delete(message.id);
  });

/**
 * A question to the process that keeps state for all workers: the primary when workers share a port, otherwise this
 * process.
 */
export class PrimaryQuestion<Answer, Value = void> {
  constructor(private readonly about: string) {}

  answer(by: (value: Value) => Answer | Promise<Answer>): void {
    answers.set(this.about, by);
  }

  /** Returns undefined when no answer is registered. A worker ends with its primary, so no question waits for ever. */
  async ask(value: Value): Promise<Answer | undefined> {
    if (!cluster.isWorker) return (await answers.get(this.about)?.(value as never)) as Answer;
    return new Promise((resolve) => {
      const id = ++questions;
      waiting.set(id, resolve as (value: unknown) => void);
      process.send!({ skein: 'question', id, about: this.about, value } satisfies Message);
    });
  }
}

/** Answers the questions of workers. It runs in the primary. */
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

import cluster from 'node:cluster';

/** A question of a worker to its primary, and the answer under the same id. */
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

/** A question to the process that keeps the state for all workers: the primary where workers share a port, else this process. */
export class PrimaryQuestion<Answer, Value = void> {
  constructor(private readonly about: string) {}

  /** Registers how this process answers. */
  answer(by: (value: Value) => Answer | Promise<Answer>): void {
    answers.set(this.about, by);
  }

  /** Undefined when nobody has said how it is answered. A worker ends with its primary, and its questions with it. */
  async ask(value: Value): Promise<Answer | undefined> {
    if (!cluster.isWorker) return (await answers.get(this.about)?.(value as never)) as Answer;
    return new Promise((resolve) => {
      const id = ++questions;
      waiting.set(id, resolve as (value: unknown) => void);
      process.send!({ skein: 'question', id, about: this.about, value } satisfies Message);
    });
  }
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

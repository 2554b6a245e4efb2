/* oxlint-disable unicorn/require-post-message-target-origin -- a thread is no window */
import { parentPort, Worker } from 'node:worker_threads';
import { unavailable } from '../errors.js';
import { FairQueue, twoThirdsRule } from './fair-queue.js';

interface Limits {
  /** A job that takes longer ends the thread. */
  timeoutMs?: number;
  /** Time that the jobs of one key may use: at once, and regained each second. */
  budgetMs?: { burst: number; perSecond: number };
  /** Heap limit of the thread, which ends above it. */
  memoryMb: number;
  /** Most waiting jobs, and most characters in them. An entity may use two thirds of each, and a key a half. */
  maxWaiting: { count: number; weight: number };
}

/** The job did not end in time. */
export class TimeUp extends Error {}

/** The jobs of the key have used up their time. */
export class OverBudget extends Error {}

/**
 * A thread for work on client data that would block the event loop. It starts with the first job, runs one job at a
 * time, and is replaced when a job ends it. Entities take turns, and so do the keys of an entity. An entity with many
 * jobs therefore delays another by only one job.
 */
export class WorkerThread<Question, Answer> {
  private readonly queue: FairQueue;
  private readonly budgets: TimeBudgets | undefined;
  private thread: Thread<Answer> | undefined;
  private isFree = true;

  /** `file` calls `answerJobs`. */
  constructor(
    private readonly file: URL,
    private readonly limits: Limits,
  ) {
    this.queue = new FairQueue({
      take: () => this.isFree && !(this.isFree = false),
      waiting: twoThirdsRule(limits.maxWaiting),
      refusal: () => unavailable('too much such work waits for its turn'),
    });
    this.budgets = limits.budgetMs && new TimeBudgets(limits.budgetMs);
  }

  /**
   * Runs a job. `length` is the length of the texts in the question. Memory in `moved` leaves this thread.
   * @throws TimeUp, OverBudget, ApiError `unavailable`, or an error of the thread, with its name and message
   */
  async run(
    question: Question,
    key: string,
    length: number,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<Answer> {
    await this.queue.enter(key, undefined, { weight: length });
    try {
      this.budgets?.check(key);
      return await this.answer(question, key, moved);
    } finally {
      this.isFree = true;
      this.queue.wake();
    }
  }

  private async answer(
    question: Question,
    key: string,
    moved: readonly ArrayBuffer[],
  ): Promise<Answer> {
    const thread = (this.thread ??= await this.start());
    const clock = new Clock();
    try {
      return await new Promise<Answer>((resolve, reject) => {
        const { timeoutMs } = this.limits;
        if (timeoutMs) clock.whenSpent(timeoutMs, () => reject(new TimeUp()));
        thread.ended = reject;
        thread.replied = ({ answer, error }) =>
          error ? reject(Object.assign(new Error(error.message), error)) : resolve(answer!);
        thread.worker.ref();
        thread.worker.postMessage(question, moved);
      });
    } catch (error) {
      if (error instanceof TimeUp) this.end(thread);
      throw error;
    } finally {
      clock.stop();
      thread.worker.unref();
      this.budgets?.charge(key, clock.spentMs);
    }
  }

  private end(thread: Thread<Answer>): void {
    if (this.thread === thread) this.thread = undefined;
    void thread.worker.terminate();
  }

  /** Starts a thread and waits until its code is loaded, so that loading takes no time of a job. */
  private start(): Promise<Thread<Answer>> {
    const worker = new Worker(this.file, {
      resourceLimits: { maxOldGenerationSizeMb: this.limits.memoryMb },
    });
    return new Promise((resolve, reject) => {
      const thread: Thread<Answer> = { worker, replied: () => resolve(thread), ended: reject };
      worker.on('message', (reply: Reply<Answer>) => thread.replied(reply));
      worker.on('error', (error) => {
        this.end(thread);
        thread.ended(error);
      });
    });
  }
}

interface Thread<Answer> {
  worker: Worker;
  replied: (reply: Reply<Answer>) => void;
  ended: (error: Error) => void;
}

/**
 * Measures the time that a thread has used: elapsed time, but at most the CPU time of all threads. A busy machine then
 * does not count as a busy thread.
 */
class Clock {
  private readonly begin = performance.now();
  private readonly cpu = process.cpuUsage();
  private timer: NodeJS.Timeout | undefined;

  get spentMs(): number {
    const { user, system } = process.cpuUsage(this.cpu);
    return Math.min(performance.now() - this.begin, (user + system) / 1000);
  }

  whenSpent(ms: number, act: () => void): void {
    const look = () => {
      const rest = ms - this.spentMs;
      if (rest > 0) this.timer = setTimeout(look, Math.ceil(rest));
      else setImmediate(act); // an answer that came in time may still wait to be read
    };
    this.timer = setTimeout(look, ms);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

interface Reply<Answer> {
  answer?: Answer;
  error?: { name: string; message: string };
}

/** Answers the jobs of a thread. It runs in the thread. */
export function answerJobs(answer: (question: never) => unknown): void {
  parentPort!.on('message', (question) => {
    parentPort!.postMessage(replyTo(() => answer(question as never)));
  });
  parentPort!.postMessage('ready');
}

function replyTo(answer: () => unknown): Reply<unknown> {
  try {
    return { answer: answer() };
  } catch (error) {
    const { name, message } = error as Error;
    return { error: { name, message } };
  }
}

/** Returns the compiled file beside the module at `url`. Tests run the sources, but their threads run the build. */
export const threadFile = (name: string, url: string): URL =>
  new URL(name, url.endsWith('.ts') ? url.replace(/\/src\/(?!.*\/src\/)/, '/dist/src/') : url);

/** Time used by each key, which it regains as time passes. */
export class TimeBudgets {
  private readonly spent = new Map<string, { ms: number; at: number }>();

  constructor(
    private readonly limits: NonNullable<Limits['budgetMs']>,
    private readonly now = () => performance.now(),
  ) {}

  check(key: string): void {
    if (this.spentBy(key) >= this.limits.burst) throw new OverBudget();
  }

  charge(key: string, ms: number): void {
    const spent = this.spentBy(key) + ms;
    this.spent.delete(key); // re-inserted at the end, so that the oldest entry comes first
    this.spent.set(key, { ms: spent, at: this.now() });
    for (const [old] of this.spent) {
      if (this.spentBy(old) > 0) break;
      this.spent.delete(old);
    }
  }

  private spentBy(key: string): number {
    const { ms, at } = this.spent.get(key) ?? { ms: 0, at: 0 };
    const regained = ((this.now() - at) / 1000) * this.limits.perSecond;
    return Math.max(0, ms - regained);
  }
}

import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { logger } from '../process/logger.js';
import { showCounter } from '../process/metrics.js';

/** A pause is shorter by up to this part, so that processes which were started together do not stay in step. */
const JITTER = 0.2;

interface Options {
  /** The first run comes at once, not after a pause. */
  isEager?: boolean;
  /** A pause is at least this many times the run before it. */
  rest?: number;
}

interface Work {
  ms: number;
  name: string;
  run: () => Promise<unknown>;
  options: Options;
  isAsked: boolean;
  /** Ends the pause. */
  wake: () => void;
}

/**
 * The recurring work of a process. Pauses lie between the end of a run and the next one, so no work overlaps with
 * itself. A run that fails is counted, and logged unless the one before it failed the same way.
 */
@Injectable()
export class Schedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly works: Work[] = [];
  private loops: Promise<void>[] = [];
  private readonly runs = showCounter(
    'skein_background_runs_total',
    'Runs of what the service does in the background, by what it is and how they ended.',
    ['work', 'outcome'],
  );

  /** Aborted when the process stops: runs that may take long end then. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /**
   * Does the work every `ms` milliseconds at most, from the start of the application on. Answers a function that asks for
   * another run soon: now, or right after the one under way. To be called by constructors.
   */
  every(ms: number, name: string, run: () => Promise<unknown>, options: Options = {}): () => void {
    const work: Work = { ms, name, run, options, isAsked: false, wake: () => {} };
    this.works.push(work);
    return () => {
      work.isAsked = true;
      work.wake();
    };
  }

  onApplicationBootstrap(): void {
    this.loops = this.works.map((work) => this.repeat(work));
  }

  onModuleDestroy(): Promise<void> {
    return this.stop();
  }

  /** Begins no further run, and resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const { wake } of this.works) wake();
    await Promise.all(this.loops);
  }

  private async repeat(work: Work): Promise<void> {
    const { ms, name, options } = work;
    let pauseMs = options.isEager ? 0 : ms;
    let problem: string | null = null;
    for (;;) {
      if (!work.isAsked) await pause(work, pauseMs * (1 - JITTER * Math.random()));
      if (this.signal.aborted) return;
      work.isAsked = false;
      const started = performance.now();
      const error = await failureOf(work);
      if (error && this.signal.aborted) return;
      this.runs.inc({ work: name, outcome: error ? 'failed' : 'done' });
      if (error && error.message !== problem)
        logger.warn(
          { work: name, err: error },
          'work in the background has failed; it is tried again',
        );
      problem = error && error.message;
      pauseMs = Math.max(ms, (options.rest ?? 0) * (performance.now() - started));
    }
  }
}

async function failureOf({ run }: Work): Promise<Error | null> {
  try {
    await run();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Resolves after the time, or when the work is woken. It does not keep the process alive. */
const pause = (work: Work, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    work.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });

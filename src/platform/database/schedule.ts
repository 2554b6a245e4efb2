import {
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Optional,
} from '@nestjs/common';
import { logger } from '../process/logger.js';
import { registerCounter, registerLabelledGauge } from '../process/metrics.js';
import { Database } from './database.js';

/** A pause is shortened by up to this fraction, so that processes that started together do not stay in step. */
const JITTER = 0.2;
/**
 * The first run starts within this time, however long the pauses are. A service restarted every hour still does its
 * hourly work.
 */
const FIRST_WITHIN_MS = 30_000;
/** A failed run is repeated after this time or four times its duration, but no later than the next regular run. */
const RETRY_MS = 60_000;

interface Options {
  /** The first run starts at once, without a pause before it. */
  isEager?: boolean;
  /** A pause is at least this many times as long as the previous run. */
  rest?: number;
}

export interface ScheduleProgress {
  /** Upper limit of the next pause. */
  pauseMs: number;
  /** When a run last succeeded. Until then, the time when the work was registered. */
  succeededMs: number;
}

interface Work extends ScheduleProgress {
  ms: number;
  name: string;
  run: () => Promise<unknown>;
  options: Options;
  isAsked: boolean;
  wake: () => void;
}

/**
 * Runs the recurring work of a process. Pauses lie between the end of a run and the next one, so work never overlaps
 * with itself. A failed run is counted. It is logged unless the previous run failed with the same message.
 */
@Injectable()
export class Schedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly works: Work[] = [];
  private readonly loops: Promise<void>[] = [];
  /** Work that other processes repeat. */
  private readonly others = new Map<string, () => Promise<ScheduleProgress | null>>();
  private isStarted = false;
  private readonly runs = registerCounter(
    'skein_background_runs_total',
    'Runs of background tasks, by task and outcome.',
    ['work', 'outcome'],
  );

  /** `database` may be missing in unit tests. Then the statements of the work are not attributed to it. */
  constructor(@Optional() private readonly database?: Database) {
    this.show(
      'skein_background_last_success_timestamp_seconds',
      'When each background task last succeeded, or was started; of the worker where that is longest ago.',
      'min',
      ({ succeededMs }) => succeededMs,
    );
    this.show(
      'skein_background_interval_seconds',
      'The longest pause before the next run of each background task.',
      'max',
      ({ pauseMs }) => pauseMs,
    );
  }

  /** Aborted when the process stops. Long runs must end then. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /**
   * Repeats the work with pauses of `ms` milliseconds, starting when the application starts, or now if it has started.
   * Returns a function that requests another run: now, or right after the current one.
   */
  every(ms: number, name: string, run: () => Promise<unknown>, options: Options = {}): () => void {
    if (this.works.some((work) => work.name === name))
      throw new Error(`the schedule has a task named "${name}" already`);
    const state = { pauseMs: ms, succeededMs: Date.now(), isAsked: false, wake: () => {} };
    const work: Work = { ms, name, run, options, ...state };
    this.works.push(work);
    if (this.isStarted) this.loops.push(this.repeat(work));
    return () => {
      work.isAsked = true;
      work.wake();
    };
  }

  /**
   * Adds work that may run in another process to the metrics of this process. `progress` returns null when no process
   * runs it.
   */
  showOther(name: string, progress: () => Promise<ScheduleProgress | null>): void {
    this.others.set(name, progress);
  }

  onApplicationBootstrap(): void {
    this.isStarted = true;
    for (const work of this.works) this.loops.push(this.repeat(work));
  }

  onModuleDestroy(): Promise<void> {
    return this.stop();
  }

  /** Starts no further run, and resolves when the current runs have ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const work of this.works) {
      work.isAsked = true; // work that is running makes no pause before it sees the stop
      work.wake();
    }
    await Promise.all(this.loops);
  }

  private async repeat(work: Work): Promise<void> {
    const { ms, name, options } = work;
    let pauseMs = options.isEager ? 0 : Math.min(ms, FIRST_WITHIN_MS);
    let problem: string | null = null;
    for (;;) {
      if (!work.isAsked) await pause(work, pauseMs * (1 - JITTER * Math.random()));
      if (this.signal.aborted) return;
      work.isAsked = false;
      const started = performance.now();
      const error = await this.runCatching(work);
      if (error && this.signal.aborted) return;
      this.runs.inc({ work: name, outcome: error ? 'failed' : 'done' });
      if (!error) work.succeededMs = Date.now();
      else if (error.message !== problem)
        logger.warn({ work: name, err: error }, 'a background task has failed and will run again');
      problem = error && error.message;
      pauseMs = nextPause(work, performance.now() - started, error !== null);
    }
  }

  private async runCatching({ name, run }: Work): Promise<Error | null> {
    try {
      await (this.database?.scope.run(
        { owner: () => '', subject: { tell: () => ({ work: name }) } },
        run,
      ) ?? run());
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Registers a gauge over all work. `aggregator` selects which worker's value is shown. */
  private show(
    metric: string,
    help: string,
    aggregator: 'min' | 'max',
    ms: (progress: ScheduleProgress) => number,
  ): void {
    registerLabelledGauge(metric, help, { label: 'work', aggregator }, async () => {
      const seconds: Record<string, number> = {};
      for (const work of this.works) seconds[work.name] = ms(work) / 1000;
      for (const [name, read] of this.others) {
        const progress = await read();
        if (progress) seconds[name] = ms(progress) / 1000;
      }
      return seconds;
    });
  }
}

/** Stores the regular pause of the work, and returns the next one, which is shorter after a failure. */
function nextPause(work: Work, tookMs: number, hasFailed: boolean): number {
  work.pauseMs = Math.max(work.ms, (work.options.rest ?? 0) * tookMs);
  return hasFailed ? Math.min(work.pauseMs, Math.max(RETRY_MS, 4 * tookMs)) : work.pauseMs;
}

/** Resolves after the time, or when the work is woken. The timer does not keep the process alive. */
const pause = (work: Work, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    work.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });

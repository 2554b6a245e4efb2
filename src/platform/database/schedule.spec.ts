import { metrics } from '../process/metrics.js';
import { Schedule } from './schedule.js';

const MS = 1000;

describe('Schedule', () => {
  let schedule: Schedule;
  let runs: number;
  /** The running work waits for this promise. */
  let held: Promise<void>;
  let release: () => void;
  beforeEach(() => {
    jest.useFakeTimers();
    schedule = new Schedule();
    runs = 0;
    held = new Promise((resolve) => (release = resolve));
  });
  afterEach(() => jest.useRealTimers());

  const work = async () => {
    runs++;
    await held;
  };
  const pass = (pauses: number) => jest.advanceTimersByTimeAsync(pauses * MS);
  const shown = async (metric: string) => {
    const { values } = await metrics.getSingleMetric(`skein_background_${metric}`)!.get();
    const seconds = values.map(({ labels, value }) => [labels['work'], value]);
    return Object.fromEntries(seconds) as Record<'work' | 'other', number>;
  };
  const counted = async (outcome: string) => {
    const { values } = await metrics.getSingleMetric('skein_background_runs_total')!.get();
    return values.find(({ labels }) => labels['outcome'] === outcome)?.value;
  };

  it('runs after each pause, and never beside itself', async () => {
    schedule.every(MS, 'work', work);
    schedule.onApplicationBootstrap();
    expect(runs).toBe(0);
    await pass(10);
    expect(runs).toBe(1);
    release();
    await pass(1);
    expect(runs).toBe(2);
  });

  it('runs at once when it is eager, and again right after when it is asked to', async () => {
    const again = schedule.every(MS, 'work', work, { isEager: true });
    schedule.onApplicationBootstrap();
    await pass(0);
    expect(runs).toBe(1);
    again();
    release();
    await pass(0);
    expect(runs).toBe(2);
    again();
    await pass(0);
    expect(runs).toBe(3);
  });

  it('goes on after a failure, and counts it', async () => {
    held = Promise.reject(new Error('away'));
    schedule.every(MS, 'work', work);
    schedule.onApplicationBootstrap();
    await pass(1);
    await pass(1);
    expect(runs).toBe(2);
    expect([await counted('failed'), await counted('done')]).toEqual([2, undefined]);
  });

  it('repeats a failed run within a minute or four times its duration, however long the pauses are', async () => {
    let lasts = 0;
    const fail = async () => {
      runs++;
      await new Promise((resolve) => setTimeout(resolve, lasts * MS));
      if (runs < 3) throw new Error('away');
    };
    schedule.every(86_400 * MS, 'work', fail, { isEager: true });
    schedule.onApplicationBootstrap();
    await pass(47);
    expect(runs).toBe(1);
    lasts = 100;
    await pass(14);
    expect(runs).toBe(2);
    await pass(400);
    expect(runs).toBe(2);
    await pass(100);
    expect(runs).toBe(3);
    await pass(3600);
    expect([runs, await counted('failed'), await counted('done')]).toEqual([3, 2, 1]);
    expect(await shown('interval_seconds')).toEqual({ work: 86_400 });
  });

  it('rests longer after a long run', async () => {
    schedule.every(MS, 'work', work, { rest: 10 });
    schedule.onApplicationBootstrap();
    await pass(1);
    await pass(2);
    release();
    await pass(15);
    expect(runs).toBe(1);
    await pass(15);
    expect(runs).toBeGreaterThan(1);
  });

  it('stops as soon as the run under way has ended, however long the pause would be', async () => {
    schedule.every(3600 * MS, 'work', work, { isEager: true });
    schedule.onApplicationBootstrap();
    await pass(0);
    let isStopped = false;
    void schedule.onModuleDestroy().then(() => (isStopped = true));
    release();
    await pass(1);
    expect([isStopped, runs]).toEqual([true, 1]);
  });

  it('stops when the run under way has ended, and begins no other', async () => {
    const again = schedule.every(MS, 'work', work);
    schedule.onApplicationBootstrap();
    await pass(1);
    let isStopped = false;
    const stopped = schedule.onModuleDestroy().then(() => (isStopped = true));
    again();
    await pass(1);
    expect([isStopped, schedule.signal.aborted]).toEqual([false, true]);
    release();
    await stopped;
    await pass(10);
    expect(runs).toBe(1);
  });

  it('runs work that is registered after the start, and none after the stop', async () => {
    schedule.onApplicationBootstrap();
    schedule.every(MS, 'late', work);
    release();
    await pass(1);
    expect(runs).toBe(1);
    await schedule.onModuleDestroy();
    schedule.every(MS, 'too late', work);
    await pass(10);
    expect(runs).toBe(1);
  });

  it('refuses a name that it has', () => {
    schedule.every(MS, 'work', work);
    expect(() => schedule.every(MS, 'work', work)).toThrow('has a task named "work" already');
  });

  it('runs within half a minute however long the pauses are, then after them', async () => {
    release();
    schedule.every(3_600_000, 'work', work);
    schedule.onApplicationBootstrap();
    await pass(30);
    expect(runs).toBe(1);
    await pass(1800);
    expect(runs).toBe(1);
    await pass(1800);
    expect(runs).toBe(2);
  });

  it('shows each work from its registration on, with its last success and the pause before the next run', async () => {
    schedule.every(MS, 'work', work, { rest: 10 });
    schedule.showOther('other', async () => ({ pauseMs: 250, succeededMs: 5000 }));
    schedule.showOther('nowhere', async () => null);
    expect([
      await shown('last_success_timestamp_seconds'),
      await shown('interval_seconds'),
    ]).toEqual([
      { work: Date.now() / 1000, other: 5 },
      { work: 1, other: 0.25 },
    ]);
    schedule.onApplicationBootstrap();
    await pass(3); // the work runs for two seconds or a little more
    release();
    await pass(0);
    const { work: succeeded } = await shown('last_success_timestamp_seconds');
    expect(succeeded).toBe(Date.now() / 1000);
    const { work: interval } = await shown('interval_seconds');
    expect(interval).toBeGreaterThanOrEqual(20);
    held = Promise.reject(new Error('away'));
    await pass(30);
    expect(await counted('failed')).toBeGreaterThan(0);
    expect((await shown('last_success_timestamp_seconds')).work).toBe(succeeded);
  });
});

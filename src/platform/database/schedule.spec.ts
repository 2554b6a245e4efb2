import { metrics } from '../process/metrics.js';
import { Schedule } from './schedule.js';

const MS = 1000;

describe('Schedule', () => {
  let schedule: Schedule;
  let runs: number;
  /** What the work under way waits for. */
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
});

import { changeKind, Changes, changesIn, KINDS, TICK_MS } from './changes.js';

const CALLS = changeKind('calls');
const COSTS = changeKind('costs');
const JOBS = changeKind('jobs');

// the runtime's own ticks would count as timers that are left
beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

/** Records the notices of each statement. `refuse` makes the next statement fail. */
function changesTo(told: string[][]) {
  const at = { isAway: false };
  const changes = new Changes(
    async (statement) => {
      if (at.isAway) throw new Error('away');
      told.push(statement.toQuery().values.at(-1) as string[]);
    },
    () => undefined,
  );
  return { changes, at };
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

it('tells the first change at once, and what comes then with one statement each tick', async () => {
  const told: string[][] = [];
  const { changes } = changesTo(told);
  changes.note('a/b', CALLS);
  expect(told).toEqual([['a/b calls']]);
  await pass(1);
  for (let i = 0; i < 100; i++) {
    changes.note('a/b', CALLS);
    changes.note('a/b', COSTS);
    changes.note('c/d', JOBS);
  }
  await pass(TICK_MS - 2);
  expect(told).toHaveLength(1);
  await pass(1);
  expect(told.slice(1)).toEqual([['a/b calls costs\nc/d jobs']]);
  await pass(10 * TICK_MS);
  expect(told).toHaveLength(2);
  expect(jest.getTimerCount()).toBe(0);
});

it('tells later what a database did not take', async () => {
  const told: string[][] = [];
  const { changes, at } = changesTo(told);
  at.isAway = true;
  changes.note('a/b', CALLS);
  await pass(1);
  changes.note('a/b', JOBS);
  at.isAway = false;
  await pass(1000);
  expect(told).toEqual([['a/b calls jobs']]);
});

it('tells what is left when it is asked to', async () => {
  const told: string[][] = [];
  const { changes } = changesTo(told);
  changes.note('a/b', CALLS);
  await pass(1);
  changes.note('a/b', JOBS);
  await changes.flush();
  expect(told.at(-1)).toEqual(['a/b jobs']);
  expect(jest.getTimerCount()).toBe(0);
});

it('keeps each notice below the 8,000 bytes of PostgreSQL, and loses none', async () => {
  const told: string[][] = [];
  const { changes } = changesTo(told);
  changes.note('first/one', CALLS);
  await pass(1);
  const projects = Array.from(
    { length: 1000 },
    (_, i) => `${'e'.repeat(128)}/${'p'.repeat(124)}${1000 + i}`,
  );
  for (const project of projects) for (const kind of KINDS) changes.note(project, kind);
  await pass(TICK_MS);
  const notices = told[1]!;
  for (const notice of notices) expect(notice.length).toBeLessThan(8000);
  const heard = notices.flatMap((notice) => [...changesIn(notice)!]);
  expect(heard).toEqual(projects.map((project) => [project, new Set(KINDS)]));
});

it('says that anything may have changed when it is too much to list', async () => {
  const told: string[][] = [];
  const { changes } = changesTo(told);
  for (let i = 0; i < 1500; i++) changes.note(`a/${i}`, CALLS);
  await pass(TICK_MS);
  expect(told).toEqual([['a/0 calls'], ['*']]);
  expect(changesIn('*')).toBeNull();
  changes.note('a/b', CALLS);
  await pass(TICK_MS);
  expect(told[2]).toEqual(['a/b calls']);
});

it('reads past kinds that this version does not know', () =>
  expect(changesIn('a/b new calls')).toEqual(new Map([['a/b', new Set(['calls'])]])));

it('tells what is left after the statement under way, not beside it', async () => {
  const told: string[][] = [];
  let end = () => {};
  const changes = new Changes(
    async (statement) => {
      told.push(statement.toQuery().values.at(-1) as string[]);
      await new Promise<void>((resolve) => (end = resolve));
    },
    () => undefined,
  );
  changes.note('a/b', CALLS);
  changes.note('a/b', JOBS);
  const flushed = changes.flush();
  await pass(0);
  expect(told).toEqual([['a/b calls']]);
  end();
  await pass(0);
  expect(told).toEqual([['a/b calls'], ['a/b jobs']]);
  end();
  await flushed;
});

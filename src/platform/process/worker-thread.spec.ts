import { Budgets, Line, OverBudget } from './worker-thread.js';

describe('Line', () => {
  it('gives keys turns', () => {
    const line = new Line<number>({ jobs: 100, length: 100 });
    for (const job of [1, 2, 3]) line.add(job, 'many', 1);
    line.add(4, 'one', 1);
    expect(Array.from({ length: 5 }, () => line.next()?.job)).toEqual([1, 4, 2, 3, undefined]);
  });

  it('lets a key take half of the jobs and of the characters that may wait', () => {
    const line = new Line<number>({ jobs: 4, length: 20 });
    const add = (key: string, length: number) => () => line.add(0, key, length);
    add('k', 5)();
    expect(add('k', 6)).toThrow('waits for its turn');
    add('k', 1)();
    expect(add('k', 1)).toThrow('waits for its turn');
    add('l', 9)();
    line.next();
    add('k', 1)(); // there is room again
  });

  it('bounds what waits of all keys', () => {
    const line = new Line<number>({ jobs: 4, length: 20 });
    const add = (key: string, length: number) => () => line.add(0, key, length);
    add('k', 9)();
    add('l', 9)();
    expect(add('m', 3)).toThrow('waits for its turn');
    add('m', 1)();
    add('n', 0)();
    expect(add('o', 0)).toThrow('waits for its turn');
  });

  it('takes a job of any length when none waits', () => {
    const line = new Line<number>({ jobs: 4, length: 20 });
    line.add(1, 'k', 30);
    expect(line.next()?.job).toBe(1);
  });
});

it('gives back the time that a key has spent as time passes', () => {
  let now = 0;
  const budgets = new Budgets({ burst: 1000, perSecond: 50 }, () => now);
  budgets.charge('k', 1100);
  expect(() => budgets.check('k')).toThrow(OverBudget);
  budgets.check('l');
  now = 1999;
  expect(() => budgets.check('k')).toThrow(OverBudget);
  now = 2001;
  budgets.check('k');
});

import { TimeBudgets, OverBudget } from './worker-thread.js';

it('gives back the time that a key has spent as time passes', () => {
  let now = 0;
  const budgets = new TimeBudgets({ burst: 1000, perSecond: 50 }, () => now);
  budgets.charge('k', 1100);
  expect(() => budgets.check('k')).toThrow(OverBudget);
  budgets.check('l');
  now = 1999;
  expect(() => budgets.check('k')).toThrow(OverBudget);
  now = 2001;
  budgets.check('k');
});

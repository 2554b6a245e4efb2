import { aRecipe } from '../../../../test/support/rollouts.js';
import { readRecipe } from '../recipe/recipe.js';
import { parseUnitFeedback, computeReward } from './rewards.js';

const said = (id: string, ...values: (string | null)[]) =>
  parseUnitFeedback([{ id, call: 'c', sha256: id, values }])[0]!;
const of = (sum: object[], more: object = {}) =>
  readRecipe(aRecipe({ reward: { sum, ...more } }), 'recipe').reward;
const PASSED = { feedback: 'f', path: 'passed', map: { true: 1, false: 0 } };
const ONCE = { hasFailed: false, choice: 0 };

describe('a reward', () => {
  it('is the weighted sum of its terms, which are metrics too', () => {
    const recipe = of([
      { ...PASSED, weight: 2 },
      { feedback: 'g', path: 'stars', scale: [1, 5, 0, 1] },
    ]);
    const { total, metrics, used } = computeReward(
      recipe,
      [said('a', 'true', null), said('b', null, '4')],
      ONCE,
    );
    expect(total).toBe(2.75);
    expect(metrics).toEqual({ f: 1, g: 0.75 });
    expect(used.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it.each([
    ['nothing is said', [], null],
    ['what is said is null', [said('a', 'null')], null],
    ['what is said is not understood', [said('a', '"maybe"')], null],
    ['the latest is not understood', [said('a', '"maybe"'), said('b', 'true')], 1],
  ])('waits for a label when %s', (_, all, total) => {
    expect(computeReward(of([PASSED]), all, ONCE).total).toBe(total);
  });

  it('takes what is missing for a number where the recipe says so', () => {
    expect(computeReward(of([PASSED], { missing: 0.1 }), [], ONCE).total).toBe(0.1);
    expect(computeReward(of([{ ...PASSED, missing: 0.2 }]), [], ONCE).total).toBe(0.2);
  });

  it('is that of a failure where the unit failed', () => {
    const failed = { hasFailed: true, choice: 0 };
    expect(computeReward(of([PASSED], { exception: -1 }), [said('a', 'true')], failed).total).toBe(
      -1,
    );
  });

  it('is no number where a value is none', () => {
    expect(
      computeReward(of([{ feedback: 'f', path: 'x' }]), [said('a', '"high"')], ONCE).total,
    ).toBeNaN();
  });

  it('is in conflict when earlier feedback says something else', () => {
    const all = [said('a', 'true'), said('b', 'false')];
    expect(computeReward(of([PASSED]), all, ONCE)).toMatchObject({ total: 1, isInConflict: true });
  });

  it('has a value for each choice where a list is said', () => {
    const recipe = of([{ feedback: 'f', path: 'scores' }]);
    const all = [said('a', '[0.5,1]')];
    const totals = [0, 1, 2].map(
      (choice) => computeReward(recipe, all, { hasFailed: false, choice }).total,
    );
    expect(totals).toEqual([0.5, 1, null]);
  });
});

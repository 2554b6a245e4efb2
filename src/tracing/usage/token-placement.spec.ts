import fc from 'fast-check';
import { placeTokens, type TokenShare } from './token-placement.js';

const share = (more: Partial<TokenShare>): TokenShare => ({
  side: 'input',
  count: 0,
  isApart: false,
  ...more,
});
const cached = (count: number, isApart = false) => share({ count, isApart, isCached: true });
const reasoning = (count: number, isApart = false) => share({ side: 'output', count, isApart });
const apart = (total: number | undefined, ...shares: TokenShare[]) => {
  const { input, output } = placeTokens({ prompt: 820, completion: 40, total }, shares);
  return [input, output];
};

describe('placed', () => {
  it('takes the reading whose sum the total is', () => {
    expect(apart(1170, reasoning(310))).toEqual([0, 310]);
    expect(apart(870, reasoning(10))).toEqual([0, 10]);
    expect(apart(860, reasoning(10, true))).toEqual([0, 0]);
    expect(apart(1860, cached(1000))).toEqual([1000, 0]);
    expect(apart(960, cached(100), reasoning(10))).toEqual([100, 0]);
    expect(apart(970, cached(100), reasoning(10))).toEqual([100, 10]);
  });

  it('goes by the names without a total, and where it is the sum of nothing', () => {
    for (const total of [undefined, 5000]) {
      expect(apart(total, reasoning(10))).toEqual([0, 0]);
      expect(apart(total, reasoning(10, true))).toEqual([0, 10]);
      expect(apart(total, cached(100), cached(50, true))).toEqual([50, 0]);
    }
  });

  it('counts apart what cannot lie inside', () => {
    expect(apart(undefined, reasoning(310))).toEqual([0, 310]);
    expect(apart(860, reasoning(310))).toEqual([0, 310]);
    expect(apart(undefined, cached(800), cached(100))).toEqual([900, 0]);
  });

  const count = fc.nat(8);
  const aShare = fc.record({
    side: fc.constantFrom('input' as const, 'output' as const),
    count,
    isApart: fc.boolean(),
  });
  const sides = fc.record({ prompt: count, completion: count });
  /** At most nine, of which two are cached. */
  const shares = fc
    .tuple(fc.array(aShare, { maxLength: 5 }), fc.array(aShare, { maxLength: 2 }))
    .map(([others, cached]): TokenShare[] => [
      ...others,
      ...cached.map((one) => ({ ...one, side: 'input' as const, isCached: true })),
    ]);

  it('has every reading that a total may be the sum of, and never more inside than there is', () => {
    fc.assert(
      fc.property(sides, shares, fc.nat(255), (sides, list, bits) => {
        const isApart = list.map((_, i) => (bits & (1 << i)) !== 0);
        const most = (side: TokenShare['side']) =>
          side === 'input' ? sides.prompt : sides.completion;
        const inside = list.filter((_, i) => !isApart[i]);
        const isPossible =
          inside.every(({ side, count }) => count <= most(side)) &&
          inside.reduce((sum, one) => sum + (one.isCached ? one.count : 0), 0) <= sides.prompt;
        const total = list.reduce(
          (sum, { count }, i) => sum + (isApart[i] ? count : 0),
          sides.prompt + sides.completion,
        );
        const { input, output, isSum } = placeTokens({ ...sides, total }, list);
        expect(isSum || !isPossible).toBe(true);
        const isTotal = sides.prompt + sides.completion + input + output === total;
        expect(isTotal).toBe(isSum);
        const cachedTokens = list.reduce((sum, one) => sum + (one.isCached ? one.count : 0), 0);
        expect(sides.prompt + input).toBeGreaterThanOrEqual(cachedTokens);
        for (const { side, count } of list)
          expect(most(side) + (side === 'input' ? input : output)).toBeGreaterThanOrEqual(count);
      }),
      { numRuns: 2000 },
    );
  });
});

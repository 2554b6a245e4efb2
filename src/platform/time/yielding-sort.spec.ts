import fc from 'fast-check';
import { sortYielding } from './yielding-sort.js';

describe('sortedInTurns', () => {
  it('sorts as Array.sort does, ties in their places', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 6000 }),
        fc.integer({ min: 1, max: 50 }),
        async (length, values) => {
          const items = Array.from({ length }, (_, i) => ({ key: (i * 7919) % values, i }));
          const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
          expect(await sortYielding(items, byKey)).toEqual(items.toSorted(byKey));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('lets other work run in between', async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const items = Array.from({ length: 200_000 }, (_, i) => String((i * 7919) % 100_003));
    await sortYielding(items, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(2);
  });
});

import fc from 'fast-check';
import { percentilesOf } from './latencies.js';

const bytes = (values: bigint[]) => {
  const list = Buffer.alloc(values.length * 8);
  for (const [i, value] of values.toSorted((a, b) => (a < b ? -1 : 1)).entries())
    list.writeBigInt64BE(value, i * 8);
  return list;
};

describe('percentiles of several lists', () => {
  it('equal those of one list', () => {
    const value = fc.oneof(
      fc.bigInt({ min: -5n, max: 20n }),
      fc.bigInt({ min: -(2n ** 58n), max: 2n ** 58n }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.array(value, { maxLength: 8 }), { maxLength: 5 }),
        fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { maxLength: 4 }),
        (lists, percents) => {
          const all = lists
            .flat()
            .map(Number)
            .toSorted((a, b) => a - b);
          const expected = percents.map((percent) => {
            if (all.length === 0) return null;
            const rank = (percent / 100) * (all.length - 1);
            const low = all[Math.floor(rank)]!;
            return low + (rank - Math.floor(rank)) * ((all[Math.floor(rank) + 1] ?? low) - low);
          });
          expect(percentilesOf(lists.map(bytes), percents)).toEqual(expected);
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { percentile } from './latencies.js';

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
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
        (lists, fractions) => {
          const sorted = lists
            .flat()
            .map(Number)
            .toSorted((a, b) => a - b);
          const expected = fractions.map((fraction) => {
            if (sorted.length === 0) return null;
            const rank = fraction * (sorted.length - 1);
            const low = sorted[Math.floor(rank)]!;
            return low + (rank - Math.floor(rank)) * ((sorted[Math.floor(rank) + 1] ?? low) - low);
          });
          const all = lists.map(bytes);
          expect(fractions.map((fraction) => percentile(all, fraction))).toEqual(expected);
        },
      ),
    );
  });

  it('are found in more lists than a function takes arguments: one each for the slots of years', () => {
    const lists = Array.from({ length: 200_000 }, (_, i) => bytes([BigInt(i)]));
    expect(percentile(lists, 0.5)).toBe(99_999.5);
  });
});

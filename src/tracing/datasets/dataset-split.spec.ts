import { partIndex, rowUnits } from './dataset-split.js';

const group = (row_digest: string, name: string) => ({ row_digest, group: name });

describe('rowUnits', () => {
  it('keeps rows of one group together, also those that a row of several groups ties', () => {
    const groups = [
      group('a', 'x'),
      group('b', 'x'),
      group('b', 'y'),
      group('c', 'y'),
      group('d', 'z'),
    ];
    const [a, b, c, d, e] = rowUnits(['a', 'b', 'c', 'd', 'e'], groups);
    expect([b, c]).toEqual([a, a]);
    expect(new Set([a, d, e]).size).toBe(3);
    expect(rowUnits(['c', 'a', 'e'], groups.toReversed())).toEqual([a, a, e]);
  });

  it('follows a chain of a hundred thousand groups', () => {
    const digests = Array.from({ length: 100_000 }, (_, i) => `r${i}`);
    const groups = digests.flatMap((digest, i) => [
      group(digest, `g${i}`),
      group(digest, `g${i + 1}`),
    ]);
    expect(new Set(rowUnits(digests, groups)).size).toBe(1);
  });
});

describe('partIndex', () => {
  const parts = (seed: string) =>
    Array.from({ length: 10_000 }, (_, i) => partIndex(`row ${i}`, seed, [0.8, 0.1, 0.1]));
  const share = (all: number[], part: number) =>
    all.filter((each) => each === part).length / all.length;

  it('is the same for the same seed, has about the fractions, and differs by seed', () => {
    const all = parts('a');
    expect(parts('a')).toEqual(all);
    expect(share(all, 0)).toBeCloseTo(0.8, 1);
    expect(share(all, 2)).toBeCloseTo(0.1, 1);
    expect(parts('b')).not.toEqual(all);
  });

  it('is the last part where rounding leaves nothing', () => {
    expect(partIndex('row', '', [0, 0])).toBe(1);
  });
});

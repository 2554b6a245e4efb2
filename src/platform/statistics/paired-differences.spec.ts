import {
  bootstrapInterval,
  DRAWS,
  MAX_EXACT_ROWS,
  mean,
  signFlipTest,
} from './paired-differences.js';

function bruteForce(differences: number[], center: number): number {
  const values = differences.map((value) => value - center);
  const observed = Math.abs(values.reduce((sum, value) => sum + value, 0));
  let count = 0;
  for (let signs = 0; signs < 2 ** values.length; signs++) {
    const sum = values.reduce((all, value, i) => all + (signs & (1 << i) ? -value : value), 0);
    if (Math.abs(sum) >= observed - 1e-9) count++;
  }
  return count / 2 ** values.length;
}

/** Random numbers of a generator other than the tested one. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const many = (n: number, shift: number) => {
  const random = randoms(n);
  return Array.from({ length: n }, () => random() - 0.5 + shift);
};

describe('signFlipTest', () => {
  it('says for few rows exactly what trying all signs says', async () => {
    const random = randoms(7);
    for (let round = 0; round < 200; round++) {
      const n = Math.floor(random() * 11);
      const isCoarse = round % 2 === 0; // ties and zeros
      const differences = Array.from({ length: n }, () =>
        isCoarse ? Math.round(random() * 4 - 2) / 10 : random() - 0.4,
      );
      const center = round % 3 === 0 ? 0.1 : 0;
      const { p_value } = await signFlipTest(differences, center);
      expect([differences, p_value]).toEqual([differences, bruteForce(differences, center)]);
    }
  });

  it.each([
    ['all rows better', Array.from({ length: 10 }, () => 0.1), 2 / 1024],
    ['nothing differs', [0, 0, 0], 1],
    ['no rows', [], 1],
    ['one row', [3], 1],
    ['0.1 + 0.2 against 0.3, which is equal', [0.1, 0.2, -0.3], 1],
  ])('knows the answer where it is known: %s', async (_, differences, p_value) => {
    expect(await signFlipTest(differences)).toMatchObject({ p_value });
  });

  it('draws signs for many rows, and comes near the normal approximation', async () => {
    expect((await signFlipTest(many(MAX_EXACT_ROWS, 0))).test).toContain('exact');
    const large = many(400, 0.05);
    const drawn = await signFlipTest(large);
    expect(drawn.test).toContain('random');
    const z =
      Math.abs(large.reduce((a, b) => a + b)) / Math.sqrt(large.reduce((a, b) => a + b * b, 0));
    const normal = 2 * (1 - normalShareBelow(z));
    expect(drawn.p_value).toBeGreaterThan(normal - 0.01);
    expect(drawn.p_value).toBeLessThan(normal + 0.01);
  });

  it('never says 0, and says the same again', async () => {
    const clear = many(MAX_EXACT_ROWS + 1, 5);
    const { p_value } = await signFlipTest(clear);
    expect(p_value).toBeGreaterThanOrEqual(1 / (DRAWS + 1));
    expect(p_value).toBeLessThan(0.001);
    expect((await signFlipTest(clear)).p_value).toBe(p_value);
  });

  it('says 0.05 or less in one of twenty cases where nothing is different', async () => {
    let found = 0;
    const random = randoms(11);
    for (let round = 0; round < 400; round++) {
      const differences = Array.from({ length: 12 }, () => random() - 0.5);
      if ((await signFlipTest(differences)).p_value <= 0.05) found++;
    }
    expect(found / 400).toBeGreaterThan(0.02);
    expect(found / 400).toBeLessThan(0.08);
  });

  it('lets others have their turn', async () => {
    let turns = 0;
    await signFlipTest(many(5000, 0), 0, async () => void turns++);
    expect(turns).toBeGreaterThan(50);
  });
});

describe('bootstrapInterval', () => {
  it('covers the mean, and is as wide as the normal approximation for many rows', async () => {
    const differences = many(1000, 0.3);
    const [lo, hi] = await bootstrapInterval(differences, 0.95);
    const center = mean(differences);
    const spread = Math.sqrt(
      differences.reduce((sum, value) => sum + (value - center) ** 2, 0) / 1000 / 1000,
    );
    expect(lo).toBeGreaterThan(center - 2.2 * spread);
    expect(lo).toBeLessThan(center - 1.75 * spread);
    expect(hi).toBeGreaterThan(center + 1.75 * spread);
    expect(hi).toBeLessThan(center + 2.2 * spread);
  });

  it('covers the true mean about as often as it promises', async () => {
    const random = randoms(5);
    let covered = 0;
    for (let round = 0; round < 60; round++) {
      const differences = Array.from({ length: 30 }, () => random());
      const [lo, hi] = await bootstrapInterval(differences, 0.9);
      if (lo <= 0.5 && hi >= 0.5) covered++;
    }
    expect(covered / 60).toBeGreaterThan(0.75);
    expect(covered / 60).toBeLessThanOrEqual(1);
  });

  it('is a point where all rows differ by the same, and the same when it is asked again', async () => {
    expect(await bootstrapInterval([0.5, 0.5, 0.5], 0.95)).toEqual([0.5, 0.5]);
    const differences = many(50, 0.1);
    const first = await bootstrapInterval(differences, 0.95);
    expect(await bootstrapInterval(differences, 0.95)).toEqual(first);
  });

  it('is wider with more confidence', async () => {
    const differences = many(50, 0.1);
    const [lo90, hi90] = await bootstrapInterval(differences, 0.9);
    const [lo99, hi99] = await bootstrapInterval(differences, 0.99);
    expect(lo99).toBeLessThan(lo90);
    expect(hi99).toBeGreaterThan(hi90);
  });
});

/** Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17. */
function normalShareBelow(z: number): number {
  const t = 1 / (1 + 0.231_641_9 * z);
  const poly =
    t *
    (0.319_381_53 +
      t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly;
}

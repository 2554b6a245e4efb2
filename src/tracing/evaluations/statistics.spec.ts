import {
  comparePairs,
  holmAdjusted,
  normalTail,
  type NumberPair,
  scorePairs,
  signTest,
} from './comparisons.js';
import { filteredRows, sortedRows } from './row-order.js';
import { scorerCalls } from './row-texts.js';
import { ScoreStats } from './score-stats.js';
import { scoreText } from './score-texts.js';
import { type Trial, type TrialRow, TrialRows } from './trials.js';

/** Returns a function that rolls integers below its argument. The sequence is the same in each run. */
function dice(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const aTrial = (id: string, more: Partial<Trial> = {}): Trial => ({
  id,
  startedAt: 0,
  scores: 'null',
  latency: null,
  tokens: null,
  cost: null,
  judgeCost: null,
  hits: [],
  keys: [],
  ...more,
});

/** Returns a value of any shape that a scorer may return. */
function aValue(roll: (below: number) => number, level = 0): unknown {
  const kind = roll(level > 2 ? 5 : 7);
  if (kind === 0) return null;
  if (kind === 1) return roll(2) === 1;
  if (kind === 2) return roll(100) / 8;
  if (kind === 3) return `word ${roll(3)}`;
  if (kind === 4) return [1, true];
  const names = ['a', 'b', 'c'].slice(0, 1 + roll(3));
  return Object.fromEntries(names.map((name) => [name, aValue(roll, level + 1)]));
}

/** Lists all values with their paths, by plain recursion. */
function leaves(value: any, path: string[] = []): [string, unknown][] {
  if (value === null || Array.isArray(value)) return [];
  if (typeof value !== 'object') return [[path.join('.'), value]];
  return Object.entries(value).flatMap(([name, member]) => leaves(member, [...path, name]));
}

describe('statistics of scores', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('are those of brute force (%i)', (seed) => {
    const roll = dice(seed);
    const all = Array.from({ length: 50 }, () => ({ judge: aValue(roll) }));
    const stats = new ScoreStats();
    for (const scores of all) stats.add(scoreText(JSON.stringify(scores)));
    const found = all.flatMap((scores) => leaves(scores));
    const names = [...new Set(found.map(([name]) => name))];
    const expected = names.map((name) => {
      const values = found.filter(([other]) => other === name).map(([, value]) => value);
      const numbers = values.filter((value) => typeof value === 'number');
      const booleans = values.filter((value) => typeof value === 'boolean');
      const [first] = values;
      const [scorer_key, ...path] = name.split('.');
      return {
        scorer_key,
        path: path.length > 0 ? path.join('.') : null,
        value_type:
          typeof first === 'boolean' ? 'binary' : typeof first === 'number' ? 'continuous' : 'text',
        trial_count: values.length,
        numeric_count: numbers.length,
        numeric_mean: numbers.length > 0 ? numbers.reduce((a, b) => a + b) / numbers.length : null,
        pass_true_count: booleans.filter(Boolean).length,
        pass_known_count: booleans.length,
        pass_rate: booleans.length > 0 ? booleans.filter(Boolean).length / booleans.length : null,
        pass_signal_coverage: booleans.length / values.length,
      };
    });
    expect(stats.take()).toEqual(expected);
  });
});

describe('calls of scorers', () => {
  it.each([
    [10, true],
    [5000, false],
  ])('are found by a part of their names for %i scores: %s', (count, isFound) => {
    const names = Array.from({ length: count }, (_, i) => `s${i};`);
    const children = ['exact', ...names.map((name) => `x${name}`)].map((name, i) => ({
      id: String(i),
      name,
      is_scorer: true,
    }));
    const found = scorerCalls(['Exact', ...names], children);
    expect([found['Exact'], found['s1;']]).toEqual(['0', isFound ? '2' : undefined]);
  });
});

describe('comparisons', () => {
  const goOn = async () => {};

  /** Computes the p-value of the sign test by enumerating all sequences of throws. */
  function signTestByCounting(up: number, down: number): number {
    const n = up + down;
    let hits = 0;
    for (let throws = 0; throws < 2 ** n; throws++) {
      const heads = throws.toString(2).replaceAll('0', '').length;
      if (Math.abs(2 * heads - n) >= Math.abs(up - down)) hits++;
    }
    return hits / 2 ** n;
  }

  it.each([
    [0, 0],
    [1, 0],
    [3, 3],
    [6, 1],
    [2, 9],
    [12, 0],
  ])('test %i rows up and %i down as counting all cases does', (up, down) => {
    expect(signTest(up, down).p_value).toBeCloseTo(signTestByCounting(up, down), 12);
  });

  it('say nothing of numbers that are too large to be summed up', async () => {
    for (const large of [1e308, Infinity]) {
      const few: NumberPair[] = [
        [0, large],
        [0, large],
        [0, -large],
      ];
      for (const pairs of [few, Array.from({ length: 25 }, () => few).flat()]) {
        const compared = await comparePairs(pairs, false, goOn);
        expect(compared).toMatchObject({ n: pairs.length, p_value: null, interval: null });
      }
    }
  });

  it('take rounding for no difference', async () => {
    const [one, other] = [(0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3];
    expect(one).not.toBe(other);
    const compared = await comparePairs([[one, other]], false, goOn);
    expect(compared).toMatchObject({ rows_down: 0, rows_same: 1, difference: 0 });
  });

  it('let others have their turn while scores are read, and stop at too many', async () => {
    const all = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`s${i}`, true]));
    const scores = JSON.stringify(all);
    const rows = new TrialRows();
    for (const id of ['a', 'b'])
      for (let i = 0; i < 50; i++) rows.add(`row ${i}`, id, aTrial(`${id}${i}`, { scores }));
    let turns = 0;
    const inTurns = async () => void turns++;
    const asked = { wanted: null, room: 9, goOn: inTurns };
    expect((await scorePairs(await rows.take(), ['a', 'b'], asked)).count).toBe(9);
    expect(turns).toBe(100);
    expect((await scorePairs(await rows.take(), ['a', 'b'], { ...asked, room: 3 })).count).toBe(4);
  });

  it('have the tails of the normal distribution', () => {
    expect(normalTail(0)).toBe(1);
    expect(normalTail(1.959963984540054)).toBeCloseTo(0.05, 12);
    expect(normalTail(3)).toBeCloseTo(0.0026997960632602, 12);
    expect(normalTail(6) / 1.973175290075e-9).toBeCloseTo(1, 8);
  });

  it('correct p-values by Holm', () => {
    const adjusted = holmAdjusted([0.01, 0.04, 0.03, 0.5]);
    for (const [i, p] of [0.04, 0.09, 0.09, 0.5].entries()) expect(adjusted[i]).toBeCloseTo(p, 12);
    expect(holmAdjusted([])).toEqual([]);
  });

  it('count rows, and say nothing of none', async () => {
    const pairs: NumberPair[] = [
      [0, 1],
      [1, 1],
      [1, 0.5],
    ];
    expect(await comparePairs(pairs, false, goOn)).toMatchObject({
      n: 3,
      rows_up: 1,
      rows_down: 1,
      rows_same: 1,
      difference: 0.5 / 3,
    });
    expect(await comparePairs([], true, goOn)).toMatchObject({
      n: 0,
      p_value: null,
      interval: null,
    });
  });

  it('of very many rows have nearly the interval of the bootstrap', async () => {
    const roll = dice(9);
    const pairs = Array.from({ length: 1000 }, (): NumberPair => [roll(10), roll(10) + 1]);
    const drawn = await comparePairs(pairs, false, goOn);
    const normal = await comparePairs([...pairs, ...pairs.slice(0, 1)], false, goOn);
    for (const side of [0, 1])
      expect(Math.abs(drawn.interval![side]! - normal.interval![side]!)).toBeLessThan(0.03);
    expect(normal.test).toMatch(/z-test/);
  });
});

describe('rows', () => {
  let rows: TrialRow[];
  beforeAll(async () => {
    const all = new TrialRows();
    const at = (row: string, score: unknown, hit: boolean, key: string | null) => {
      const [digest, root] = row.split(' ') as [string, string];
      all.add(
        digest,
        root,
        aTrial(row, { scores: scoreText(JSON.stringify({ s: score })), hits: [hit], keys: [key] }),
      );
    };
    at('c one', 0.5, true, '10');
    at('c two', 0.75, false, '10');
    at('a one', true, false, 'word');
    at('b one', null, true, '9');
    at('b two', 0, false, null);
    rows = await all.take();
  });
  const sorted = async (sort: object) => {
    const plain = { isDescending: false, rootId: null, isDifference: false };
    const found = await sortedRows(rows, [{ ...plain, value: { score: ['s'] }, ...sort }]);
    return found.map(({ digest }) => digest);
  };

  it('sort by means, differences and values, numbers before texts before nothing', async () => {
    expect(rows.map(({ digest }) => digest)).toEqual(['a', 'b', 'c']);
    expect(await sorted({})).toEqual(['b', 'c', 'a']);
    expect(await sorted({ isDescending: true })).toEqual(['a', 'c', 'b']);
    expect(await sorted({ rootId: 'two' })).toEqual(['b', 'c', 'a']);
    expect(await sorted({ isDifference: true, isDescending: true })).toEqual(['c', 'a', 'b']);
    expect(await sorted({ value: { key: 0 } })).toEqual(['b', 'c', 'a']);
    expect(await sorted({ value: { key: 0 }, isDescending: true })).toEqual(['c', 'b', 'a']);
  });

  it('are found by one group of conditions, or by each', async () => {
    const groups = [
      { rootId: 'one', hits: [0] },
      { rootId: 'two', hits: [0] },
    ];
    const found = async (isEach: boolean) =>
      (await filteredRows(rows, groups, isEach)).map(({ digest }) => digest);
    expect(await found(false)).toEqual(['b', 'c']);
    expect(await found(true)).toEqual([]);
  });

  it('keep the order of calls among trials that came in any order', async () => {
    const all = new TrialRows();
    for (const startedAt of [3, 1, 2]) all.add('x', 'one', aTrial(`${startedAt}`, { startedAt }));
    const [row] = await all.take();
    expect(row!.trials.get('one')!.map(({ id }) => id)).toEqual(['1', '2', '3']);
  });
});

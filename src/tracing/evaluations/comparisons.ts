import {
  bootstrapInterval,
  type YieldCallback,
  INTERVAL_SOURCE,
  mean,
  signFlipTest,
} from '../../platform/statistics/paired-differences.js';
import type { ComparedDto, ComparedScoreDto } from './eval-results.dto.js';
import { LeafMap, eachLeaf, type ScoreLeaf } from './score-stats.js';
import type { Trial, TrialRow } from './trials.js';

export const CONFIDENCE = 0.95;
/** Quantile of the normal distribution for `CONFIDENCE`. */
const Z = 1.959963984540054;
/**
 * Most rows for resampling (bootstrap and sign flips). Above it the mean of differences is close to normal, and
 * resampling would take seconds.
 */
const MAX_DRAWN_ROWS = 1000;

/** The members of `ComparedDto` as a plain object. */
type PairComparison = Pick<ComparedDto, keyof ComparedDto>;

/** A row's number in the baseline and in the other evaluation. */
export type NumberPair = readonly [baseline: number, other: number];

/** Compares paired numbers. Binary values get the exact sign test, others the sign-flip test. */
export async function comparePairs(
  pairs: readonly NumberPair[],
  isBinary: boolean,
  goOn: YieldCallback,
): Promise<PairComparison> {
  const n = pairs.length;
  const differences = pairs.map(rowDifference);
  const rows_up = differences.filter((difference) => difference > 0).length;
  const rows_down = differences.filter((difference) => difference < 0).length;
  const counts = { n, rows_up, rows_down, rows_same: n - rows_up - rows_down };
  // the interval and the tests sum up squares, which must be finite
  const size = differences.reduce((sum, each) => sum + each ** 2, 0);
  if (n === 0 || !Number.isFinite(size)) return { ...counts, ...NOTHING };
  const test = isBinary
    ? signTest(rows_up, rows_down)
    : n <= MAX_DRAWN_ROWS
      ? await signFlipTest(differences, 0, goOn)
      : normalTest(differences);
  return {
    ...counts,
    baseline_mean: mean(pairs.map(([baseline]) => baseline)),
    other_mean: mean(pairs.map(([, other]) => other)),
    difference: mean(differences),
    ...(await intervalAround(differences, goOn)),
    ...test,
  };
}

/** Returns 0 when two values differ only by rounding. */
function rowDifference([baseline, other]: NumberPair): number {
  const size = Math.max(Math.abs(baseline), Math.abs(other));
  return Math.abs(other - baseline) < size * 1e-12 ? 0 : other - baseline;
}

const NOTHING = {
  baseline_mean: null,
  other_mean: null,
  difference: null,
  interval: null,
  interval_method: null,
  p_value: null,
  test: null,
  source: null,
};

async function intervalAround(differences: readonly number[], goOn: YieldCallback) {
  if (differences.length < 2) return { interval: null, interval_method: null };
  if (differences.length <= MAX_DRAWN_ROWS)
    return {
      interval: await bootstrapInterval(differences, CONFIDENCE, goOn),
      interval_method: INTERVAL_SOURCE,
    };
  const middle = mean(differences);
  const reach = Z * standardError(differences);
  return {
    interval: [middle - reach, middle + reach] as [number, number],
    interval_method: 'normal approximation of the mean, with the standard error of the differences',
  };
}

/** Returns the standard error of the mean. */
function standardError(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}

function normalTest(differences: readonly number[]) {
  const error = standardError(differences);
  const z = Math.abs(mean(differences)) / error;
  return {
    p_value: error === 0 ? (mean(differences) === 0 ? 1 : 0) : normalTail(z),
    test: 'paired z-test of the mean difference, two-sided',
    source: 'G. W. Snedecor and W. G. Cochran, Statistical Methods (8th ed. 1989), section 6.3',
  };
}

/**
 * Returns the two-sided tail of the normal distribution beyond `z`: erfc by its continued fraction, or by its series
 * near 0.
 */
export function normalTail(z: number): number {
  const x = z / Math.SQRT2;
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let k = 1; k < 100; k++) {
      term *= (-x * x) / k;
      sum += term / (2 * k + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

/** Tests whether as many rows go up as go down. Two-sided and exact. */
export function signTest(up: number, down: number) {
  return {
    p_value: Math.min(1, 2 * binomialTail(up + down, Math.min(up, down))),
    test: 'exact McNemar test (sign test of the rows that differ), two-sided',
    source:
      'Q. McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 12 (1947), 153–157',
  };
}

function binomialTail(n: number, k: number): number {
  let logTerm = -n * Math.LN2;
  let sum = 0;
  for (let i = 0; i <= k; i++) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((n - i) / (i + 1));
  }
  return sum;
}

/** Returns p-values after Holm's step-down correction, in the order of `pValues`. */
export function holmAdjusted(pValues: readonly number[]): number[] {
  const order = pValues.map((_, i) => i).toSorted((a, b) => pValues[a]! - pValues[b]!);
  const adjusted: number[] = [];
  let largest = 0;
  for (const [rank, i] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * pValues[i]!));
    adjusted[i] = largest;
  }
  return adjusted;
}

/** Returns the mean of a number over the trials that have it, or null. */
function trialMean(
  trials: readonly Trial[],
  number: (trial: Trial) => number | null,
): number | null {
  const known = trials.map(number).filter((value) => value !== null);
  return known.length > 0 ? mean(known) : null;
}

/** Returns the numbers of each row for which both evaluations have one. */
export function rowPairs(
  rows: readonly TrialRow[],
  [baseline, other]: readonly [string, string],
  number: (trial: Trial) => number | null,
): NumberPair[] {
  return rows.flatMap(({ trials }): NumberPair[] => {
    const pair = [baseline, other].map((id) => trialMean(trials.get(id)!, number));
    return pair[0] === null || pair[1] === null ? [] : [pair as unknown as NumberPair];
  });
}

class ScorePairs {
  private readonly leaves = new LeafMap<LeafSums>();

  constructor(
    private readonly wanted: ReadonlySet<string> | null,
    private readonly room: number,
  ) {}

  get isFull(): boolean {
    return this.count > this.room;
  }

  get count(): number {
    return this.leaves.count;
  }

  add(side: 0 | 1, row: number, { scores }: Trial): void {
    eachLeaf(scores, (leaf) => {
      const isWanted = typeof leaf.value !== 'string' && (this.wanted?.has(leafName(leaf)) ?? true);
      if (isWanted && !this.isFull)
        this.found(leaf).add(side, row, Number(leaf.value), typeof leaf.value === 'boolean');
      return !this.isFull;
    });
  }

  private found(leaf: ScoreLeaf): LeafSums {
    return this.leaves.get(leaf) ?? this.leaves.set(leaf, new LeafSums(leaf));
  }

  async compared(goOn: YieldCallback): Promise<Omit<ComparedScoreDto, 'p_value_holm'>[]> {
    const compared = [];
    for (const sums of this.leaves.values()) {
      const { scorer, path, isBinary } = sums;
      compared.push({
        scorer_key: scorer,
        path,
        value_type: isBinary ? ('binary' as const) : ('continuous' as const),
        ...(await comparePairs(sums.pairs(), isBinary, goOn)),
      });
    }
    return compared;
  }
}

/** Collects the scores of two evaluations' rows. Stops once there are more than `room` different scores. */
export async function scorePairs(
  rows: readonly TrialRow[],
  ids: readonly [string, string],
  { wanted, room, goOn }: { wanted: ReadonlySet<string> | null; room: number; goOn: YieldCallback },
): Promise<ScorePairs> {
  const pairs = new ScorePairs(wanted, room);
  for (const [i, { trials }] of rows.entries())
    for (const side of [0, 1] as const)
      for (const trial of trials.get(ids[side])!) {
        await goOn();
        pairs.add(side, i, trial);
        if (pairs.isFull) return pairs;
      }
  return pairs;
}

const leafName = ({ scorer, path }: ScoreLeaf) => (path === null ? scorer : `${scorer}.${path}`);

/** Sums of one score over the trials of each row. */
class LeafSums {
  readonly scorer: string;
  readonly path: string | null;
  /** True while all values of the score are booleans. */
  isBinary = true;
  private readonly sides = [new Map<number, Sum>(), new Map<number, Sum>()] as const;

  constructor({ scorer, path }: ScoreLeaf) {
    this.scorer = scorer;
    this.path = path;
  }

  add(side: 0 | 1, row: number, value: number, isBoolean: boolean): void {
    if (!isBoolean) this.isBinary = false;
    const sum = this.sides[side].get(row) ?? { count: 0, total: 0 };
    sum.count++;
    sum.total += value;
    this.sides[side].set(row, sum);
  }

  pairs(): NumberPair[] {
    const [baseline, other] = this.sides;
    return [...baseline].flatMap(([row, a]): NumberPair[] => {
      const b = other.get(row);
      return b ? [[a.total / a.count, b.total / b.count]] : [];
    });
  }
}

interface Sum {
  count: number;
  total: number;
}

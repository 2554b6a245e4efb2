/**
 * Statistics of paired differences. Each row has one number: how much better the candidate is. The results are
 * deterministic, because the random numbers start from a fixed seed.
 */

/** Most rows whose signs are enumerated. 2^20 sums take some milliseconds. */
export const MAX_EXACT_ROWS = 20;
/**
 * Number of random assignments of signs above that, and of bootstrap samples. With 9,999 a p-value of 0.05 has a
 * standard error of 0.002.
 */
export const DRAWS = 9999;
const SEED = 20_261_124;
/** Additions between two calls of the yield callback. */
const ADDITIONS_AT_ONCE = 500_000;

/** Called between pieces of long work, to let other work run. */
export type YieldCallback = () => Promise<void>;

export interface TestResult {
  p_value: number;
  test: string;
  source: string;
}

/**
 * Tests whether differences have the mean `center`, two-sided. Under the hypothesis each deviation has either sign with
 * equal probability. The p-value is the share of all assignments of signs whose sum is at least as far from 0 as the
 * observed sum.
 */
export async function signFlipTest(
  differences: readonly number[],
  center = 0,
  goOn?: YieldCallback,
): Promise<TestResult> {
  const values = differences.map((value) => value - center).filter((value) => value !== 0);
  const isExact = values.length <= MAX_EXACT_ROWS;
  const size = values.reduce((sum, value) => sum + Math.abs(value), 0);
  // Sums that differ only by rounding are equal.
  const observed = Math.abs(values.reduce((sum, value) => sum + value, 0)) - size * 1e-12;
  return isExact
    ? {
        p_value: shareOfAllSigns(values, observed),
        test: 'exact paired permutation test (sign flips), two-sided',
        source: 'R. A. Fisher, The Design of Experiments (1935), section 21',
      }
    : {
        p_value: await shareOfRandomSigns(values, observed, goOn),
        test: `paired permutation test (${DRAWS} random sign flips), two-sided`,
        source:
          'B. Phipson and G. K. Smyth, Permutation P-values Should Never Be Zero, Stat. Appl. Genet. Mol. Biol. 9 (2010), article 39',
      };
}

/**
 * Returns the share of all assignments of signs. Combines the sums of both halves of the values, so that no sum needs
 * more than 21 additions.
 */
function shareOfAllSigns(values: readonly number[], observed: number): number {
  const middle = values.length >> 1;
  const [left, right] = [allSums(values.slice(0, middle)), allSums(values.slice(middle))];
  let count = 0;
  for (const a of left) for (const b of right) if (Math.abs(a + b) >= observed) count++;
  return count / (left.length * right.length);
}

function allSums(values: readonly number[]): Float64Array {
  let sums = Float64Array.of(0);
  for (const value of values) {
    const next = new Float64Array(2 * sums.length);
    for (const [i, sum] of sums.entries()) {
      next[2 * i] = sum + value;
      next[2 * i + 1] = sum - value;
    }
    sums = next;
  }
  return sums;
}

/** Returns the share of random assignments of signs. The observed signs count as one draw, so the result is never 0. */
async function shareOfRandomSigns(
  values: readonly number[],
  observed: number,
  goOn?: YieldCallback,
): Promise<number> {
  const random = randomNumbers(SEED);
  const perTurn = Math.ceil(ADDITIONS_AT_ONCE / values.length);
  let count = 1;
  for (let draw = 0; draw < DRAWS; draw++) {
    if (draw % perTurn === 0) await goOn?.();
    let sum = 0;
    let bits = 0;
    for (let i = 0; i < values.length; i++) {
      if (i % 32 === 0) bits = random();
      sum += bits & 1 ? values[i]! : -values[i]!;
      bits >>>= 1;
    }
    if (Math.abs(sum) >= observed) count++;
  }
  return count / (DRAWS + 1);
}

export const INTERVAL_SOURCE =
  'percentile bootstrap of the mean: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), section 13.3';

/** Returns the confidence interval of the mean, by resampling the rows with replacement. */
export async function bootstrapInterval(
  differences: readonly number[],
  confidence: number,
  goOn?: YieldCallback,
): Promise<[lo: number, hi: number]> {
  const { length } = differences;
  const random = randomNumbers(SEED);
  const perTurn = Math.ceil(ADDITIONS_AT_ONCE / length);
  const means = new Float64Array(DRAWS);
  for (let draw = 0; draw < DRAWS; draw++) {
    if (draw % perTurn === 0) await goOn?.();
    let sum = 0;
    for (let i = 0; i < length; i++) sum += differences[Math.floor((random() / 2 ** 32) * length)]!;
    means[draw] = sum / length;
  }
  means.sort();
  // The quantile α of B sorted means is their (B + 1)·α-th.
  const at = Math.max(1, Math.floor((DRAWS + 1) * ((1 - confidence) / 2)));
  return [means[at - 1]!, means[DRAWS - at]!];
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns a generator of random integers below 2^32: sfc32 of PractRand, after twelve warm-up steps. */
function randomNumbers(seed: number): () => number {
  let [a, b, c, counter] = [0, seed, seed >>> 16, 1];
  const next = () => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

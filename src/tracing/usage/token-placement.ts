/** Tokens that are part of the prompt or the completion, or apart from them. */
export interface TokenShare {
  side: 'input' | 'output';
  count: number;
  /** True when the share is apart, unless the total decides otherwise. */
  isApart: boolean;
  /** Cached tokens. Two shares of cached tokens never overlap. */
  isCached?: boolean;
}

interface SideTotals {
  prompt: number;
  completion: number;
  total: number | undefined;
}

/** Numbers of tokens that are apart, and whether this reading adds up to the total. */
export interface TokenPlacement {
  input: number;
  output: number;
  isSum: boolean;
}

/**
 * Decides which shares are apart. A reading that adds up to the total wins; among several, the one with the fewest
 * deviations from `isApart`. Otherwise `isApart` decides. A share that exceeds its side cannot be part of it.
 */
export function placeTokens(sides: SideTotals, all: readonly TokenShare[]): TokenPlacement {
  const shares = all.filter(({ count }) => count > 0);
  let usual = shares.map((share) => share.isApart || share.count > sideOf(sides, share));
  if (!cachedFit(sides, shares, usual))
    usual = usual.map((isApart, i) => isApart || shares[i]!.isCached === true);
  const reading = placement(sides, shares, usual);
  if (sides.total === undefined || reading.isSum) return reading;
  for (const flips of FLIPS[shares.length]!) {
    const isApart = usual.map((is, i) => is !== ((flips & (1 << i)) !== 0));
    const other = placement(sides, shares, isApart);
    if (other.isSum && fits(sides, shares, isApart)) return other;
  }
  return reading;
}

const sideOf = ({ prompt, completion }: SideTotals, { side }: TokenShare) =>
  side === 'input' ? prompt : completion;

const cachedFit = (
  { prompt }: SideTotals,
  shares: readonly TokenShare[],
  isApart: readonly boolean[],
) =>
  shares.reduce((sum, { count, isCached }, i) => sum + (isCached && !isApart[i] ? count : 0), 0) <=
  prompt;

const fits = (sides: SideTotals, shares: readonly TokenShare[], isApart: readonly boolean[]) =>
  cachedFit(sides, shares, isApart) &&
  shares.every((share, i) => isApart[i] || share.count <= sideOf(sides, share));

function placement(
  { prompt, completion, total }: SideTotals,
  shares: readonly TokenShare[],
  isApart: readonly boolean[],
): TokenPlacement {
  const apart = { input: 0, output: 0 };
  shares.forEach(({ side, count }, i) => {
    if (isApart[i]) apart[side] += count;
  });
  return { ...apart, isSum: total === prompt + completion + apart.input + apart.output };
}

/** Sets of shares as bits, the smaller sets first. There are at most nine shares. */
const FLIPS = Array.from({ length: 10 }, (_, shares) =>
  Array.from({ length: 2 ** shares - 1 }, (_, i) => i + 1).toSorted(
    (a, b) => bitCount(a) - bitCount(b) || a - b,
  ),
);

function bitCount(bits: number): number {
  let count = 0;
  for (let left = bits; left > 0; left &= left - 1) count++;
  return count;
}

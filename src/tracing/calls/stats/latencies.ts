const WIDTH = 8;
const HIGH = 2 ** 32;

/** Sorted integers of eight bytes each, as `int8send` writes them. */
export type SortedLatencies = Buffer;

const at = (list: SortedLatencies, index: number) =>
  list.readInt32BE(index * WIDTH) * HIGH + list.readUInt32BE(index * WIDTH + 4);

function countUpTo(list: SortedLatencies, value: number): number {
  let [low, high] = [0, list.length / WIDTH];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(list, middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the percentile at a fraction of all numbers in several lists, interpolated as in `percentile_cont`. Null if
 * the lists are empty. The lists are not merged: a binary search over the values looks into each list at each step.
 */
export function percentile(lists: readonly SortedLatencies[], fraction: number): number | null {
  const filled = lists.filter(({ length }) => length > 0);
  const count = filled.reduce((sum, { length }) => sum + length / WIDTH, 0);
  if (count === 0) return null;
  const rank = fraction * (count - 1);
  const [lower, next] = neighbours(filled, Math.floor(rank));
  return lower + (rank - Math.floor(rank)) * ((next ?? lower) - lower);
}

/** Returns the number at a position in the order of all numbers, counted from 0, and the next number. */
function neighbours(lists: readonly SortedLatencies[], place: number): [number, number | null] {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    low = Math.min(low, at(list, 0));
    high = Math.max(high, at(list, list.length / WIDTH - 1));
  }
  const upTo = (value: number) => lists.reduce((sum, list) => sum + countUpTo(list, value), 0);
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    // no number is between the two; they may differ by more than one if they are too large
    if (middle <= low || middle >= high) low = high = upTo(low) > place ? low : high;
    else if (upTo(middle) > place) high = middle;
    else low = middle;
  }
  if (upTo(low) > place + 1) return [low, low];
  let next: number | null = null;
  for (const list of lists) {
    const index = countUpTo(list, low);
    if (index * WIDTH < list.length) next = Math.min(next ?? Infinity, at(list, index));
  }
  return [low, next];
}

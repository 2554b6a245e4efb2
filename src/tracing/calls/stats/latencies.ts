const WIDTH = 8;
const HIGH = 2 ** 32;

/** Sorted whole numbers of eight bytes each, as `int8send` writes them. */
export type SortedLatencies = Buffer;

const at = (list: SortedLatencies, index: number) =>
  list.readInt32BE(index * WIDTH) * HIGH + list.readUInt32BE(index * WIDTH + 4);

/** How many numbers of a list are at most `value`. */
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
 * A percentile of all numbers of some lists, as `percentile_cont` interpolates it; null of none. The lists are not
 * merged: the value is found by halving the range in which it lies, with a look into each list.
 */
export function percentile(lists: readonly SortedLatencies[], percent: number): number | null {
  const filled = lists.filter(({ length }) => length > 0);
  const count = filled.reduce((sum, { length }) => sum + length / WIDTH, 0);
  if (count === 0) return null;
  const rank = (percent / 100) * (count - 1);
  const [lower, next] = neighbours(filled, Math.floor(rank));
  return lower + (rank - Math.floor(rank)) * ((next ?? lower) - lower);
}

/** The number at a place in the order of all, from 0, and the one behind it. */
function neighbours(lists: readonly SortedLatencies[], place: number): [number, number | null] {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    low = Math.min(low, at(list, 0));
    high = Math.max(high, at(list, list.length / WIDTH - 1));
  }
  const upTo = (value: number) => lists.reduce((sum, list) => sum + countUpTo(list, value), 0);
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    // nothing lies between the two, also where they are too large to differ by one
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

import { EventLoopTurn } from './event-loop-turn.js';

/** Number of items that are sorted or merged between two checks of the clock. */
const AT_ONCE = 1024;

/** Sorts the items stably. Sorts parts and merges them, and yields to the event loop in between. */
export async function sortYielding<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  turn = new EventLoopTurn(),
): Promise<T[]> {
  let runs: T[][] = [];
  for (let i = 0; i < items.length; i += AT_ONCE) {
    runs.push(items.slice(i, i + AT_ONCE).toSorted(compare));
    if (turn.isOver) await turn.next();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2)
      merged.push(runs[i + 1] ? await mergedRuns(runs[i]!, runs[i + 1]!, compare, turn) : runs[i]!);
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedRuns<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  turn: EventLoopTurn,
): Promise<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const isFirst = j >= b.length || (i < a.length && compare(a[i]!, b[j]!) <= 0);
    merged.push(isFirst ? a[i++]! : b[j++]!);
    if (merged.length % AT_ONCE === 0 && turn.isOver) await turn.next();
  }
  return merged;
}

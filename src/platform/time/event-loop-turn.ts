import { setImmediate as breath } from 'node:timers/promises';

/** Milliseconds for which work runs before other requests get a turn. */
const TURN_MS = 10;

/** Limits long work on the event loop. Call between pieces of work: `if (turn.isOver) await turn.next()`. */
export class EventLoopTurn {
  private ends = performance.now() + TURN_MS;

  get isOver(): boolean {
    return performance.now() > this.ends;
  }

  async next(): Promise<void> {
    await breath();
    this.ends = performance.now() + TURN_MS;
  }
}

/** Maps items by `work`, and yields to the event loop in between. */
export async function mapYielding<T, R>(
  items: readonly T[],
  work: (item: T, i: number) => R,
): Promise<R[]> {
  const turn = new EventLoopTurn();
  const results: R[] = [];
  for (let i = 0; i < items.length; i++) {
    if (turn.isOver) await turn.next();
    results.push(work(items[i]!, i));
  }
  if (turn.isOver) await turn.next();
  return results;
}

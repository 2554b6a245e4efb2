import { setImmediate as breath } from 'node:timers/promises';

/** Work runs for about this long before other requests get a turn. */
const TURN_MS = 10;

/** The turn of long work on the event loop. Between pieces: `if (turn.isOver) await turn.next()`. */
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

/** Maps items by `work`, in turns. */
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

import type { StartedCall } from '../call.entity.js';

export const TURN_COLUMNS = [
  'id',
  'parent_id',
  'trace_id',
  'thread_id',
  'turn_id',
  'thread_source',
  'is_orphan',
] as const;

/** A visible call of a trace. `place` is its position in the order of the starts. */
export interface TurnRow extends Pick<StartedCall, (typeof TURN_COLUMNS)[number]> {
  place: number;
  is_span: boolean;
}

export interface TurnChange {
  before: TurnRow;
  thread_id: string | null;
  turn_id: string | null;
  thread_source: string | null;
}

/**
 * Returns the changed turns of whole traces. `rows` are in the order of their starts. The topmost visible call is the
 * turn of the thread that it names, else of the thread that the first call below it names. If the client decides which
 * calls are turns, they stay unchanged.
 */
export function turnChanges(rows: readonly TurnRow[]): TurnChange[] {
  const tops = topCalls(rows);
  const namedBelow = new Map<TurnRow, TurnRow>();
  for (const row of rows) {
    const top = tops.get(row)!;
    if (ownThread(row) !== null && !namedBelow.has(top)) namedBelow.set(top, row);
  }
  return rows.flatMap((before) => {
    if (before.thread_source === null && !before.is_span) return [];
    const isTop = tops.get(before) === before;
    const change = changeOf(before, { isTop, named: namedBelow.get(before) });
    return isSame(before, change) ? [] : [change];
  });
}

/** `named` is the first call below a topmost call that names a thread. */
function changeOf(
  before: TurnRow,
  { isTop, named }: { isTop: boolean; named: TurnRow | undefined },
): TurnChange {
  const own = ownThread(before);
  const source = isTop && own === null ? named : undefined;
  const isTurn = isTop ? own !== null || source !== undefined : isAlwaysTurn(before);
  return {
    before,
    thread_id: own ?? source?.thread_id ?? null,
    turn_id: isTurn ? before.id : null,
    thread_source: source ? source.id : before.thread_source && '',
  };
}

const isSame = (before: TurnRow, after: Omit<TurnChange, 'before'>): boolean =>
  after.thread_id === before.thread_id &&
  after.turn_id === before.turn_id &&
  after.thread_source === before.thread_source;

/** Returns the thread that a call names itself. A thread taken from a call below does not count. */
const ownThread = ({ thread_id, thread_source }: TurnRow): string | null =>
  thread_source ? null : thread_id || null;

/** True for a span that states that it is a turn (`wandb.is_turn`). */
const isAlwaysTurn = ({ id, turn_id, parent_id, thread_source }: TurnRow): boolean =>
  thread_source === null && turn_id === id && parent_id !== null;

/** Maps each call to the topmost call above it, or to itself. Takes linear time, and does not recurse. */
function topCalls(rows: readonly TurnRow[]): Map<TurnRow, TurnRow> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const parentOf = (row: TurnRow) =>
    row.parent_id === null || row.parent_id === row.id ? undefined : byId.get(row.parent_id);
  const tops = new Map<TurnRow, TurnRow>();
  for (const from of rows) {
    const climbed = new Set<TurnRow>();
    let at = from;
    let top = tops.get(at);
    while (!top) {
      climbed.add(at);
      const above = parentOf(at);
      if (!above) top = at;
      else if (climbed.has(above)) top = cycleHead(above, parentOf);
      else {
        at = above;
        top = tops.get(at);
      }
    }
    for (const row of climbed) tops.set(row, top);
  }
  return tops;
}

/** Returns, of calls that are each other's parents, the one that lists show: `isRoot`. */
function cycleHead(row: TurnRow, parentOf: (row: TurnRow) => TurnRow | undefined): TurnRow {
  let first = row;
  for (let one = parentOf(row)!; one !== row; one = parentOf(one)!)
    if (one.is_orphan === first.is_orphan ? one.place < first.place : one.is_orphan) first = one;
  return first;
}

/** A visible call of a trace. `place` counts in the order of the starts. */
export interface TurnRow {
  place: number;
  id: string;
  parent_id: string | null;
  trace_id: string;
  thread_id: string | null;
  turn_id: string | null;
  thread_source: string | null;
  is_orphan: boolean;
  is_span: boolean;
}

/** What a call says of its turn and its thread from now on. */
export interface TurnChange {
  before: TurnRow;
  thread_id: string | null;
  turn_id: string | null;
  thread_source: string | null;
}

/**
 * The turns of whole traces, whose calls come in the order of their starts. The topmost call that is here is the turn of the thread that it
 * names, or else of the one that the first call below it names. Calls whose client says which are turns stay as they are.
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

/** `named` is the first call below a topmost one that names a thread. */
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

/** The thread that a call names itself, and has not taken from a call below it. */
const ownThread = ({ thread_id, thread_source }: TurnRow): string | null =>
  thread_source ? null : thread_id || null;

/** A span that says so (`wandb.is_turn`). */
const isAlwaysTurn = ({ id, turn_id, parent_id, thread_source }: TurnRow): boolean =>
  thread_source === null && turn_id === id && parent_id !== null;

/** The topmost call above each, which is its own where it has none above it. Takes linear time, and does not recurse. */
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

/** Of calls that are each other's parents, the one that lists show: `isRoot`. */
function cycleHead(row: TurnRow, parentOf: (row: TurnRow) => TurnRow | undefined): TurnRow {
  let first = row;
  for (let one = parentOf(row)!; one !== row; one = parentOf(one)!)
    if (one.is_orphan === first.is_orphan ? one.place < first.place : one.is_orphan) first = one;
  return first;
}

/** The data of a call that the tree needs; times in milliseconds. */
export interface TreeSpan {
  id: string;
  parentId: string | null;
  name: string;
  start: number;
  /** Null for a running call. */
  end: number | null;
}

/** Calls in the order of the tree. A call is addressed by its position in that order. */
export interface Tree<T extends TreeSpan> {
  spans: T[];
  depth: Uint32Array;
  /** The position after the call and all its descendants. */
  behind: Uint32Array;
  /** The position of the parent; -1 for a root. */
  parent: Int32Array;
  numberById: Map<string, number>;
  /** Begin and end of the time axis. */
  from: number;
  to: number;
}

/**
 * Sorts calls into a tree: parents before children, children by start. A call without its parent is a root, and so is
 * one call of each cycle of parents. Any depth is allowed.
 */
export function makeTree<T extends TreeSpan>(calls: readonly T[], now: number): Tree<T> {
  const sorted = calls.toSorted((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1));
  const known = new Set(sorted.map(({ id }) => id));
  const children = new Map<string, T[]>();
  const roots: T[] = [];
  for (const call of sorted) {
    const { parentId } = call;
    if (parentId === null || parentId === call.id || !known.has(parentId)) roots.push(call);
    else {
      const siblings = children.get(parentId);
      if (siblings) siblings.push(call);
      else children.set(parentId, [call]);
    }
  }
  const walk = new Walk<T>(sorted.length, children);
  for (const root of roots) walk.from(root);
  for (const call of sorted) walk.from(call); // calls in cycles of parents
  let [from, to] = [Infinity, -Infinity];
  for (const { start, end } of sorted) {
    from = Math.min(from, start);
    to = Math.max(to, end ?? now);
  }
  return { ...walk.result(), from, to: Math.max(to, from + 0.001) };
}

class Walk<T extends TreeSpan> {
  private readonly spans: T[] = [];
  private readonly numberById = new Map<string, number>();
  private readonly depth: Uint32Array;
  private readonly behind: Uint32Array;
  private readonly parent: Int32Array;

  constructor(
    size: number,
    private readonly children: Map<string, T[]>,
  ) {
    this.depth = new Uint32Array(size);
    this.behind = new Uint32Array(size);
    this.parent = new Int32Array(size);
  }

  from(root: T): void {
    if (this.numberById.has(root.id)) return;
    const open: { number: number; rest: T[] }[] = [];
    const enter = (call: T) => {
      const number = this.spans.push(call) - 1;
      this.numberById.set(call.id, number);
      this.depth[number] = open.length;
      this.parent[number] = open.at(-1)?.number ?? -1;
      open.push({ number, rest: (this.children.get(call.id) ?? []).toReversed() });
    };
    enter(root);
    while (open.length > 0) {
      const { number, rest } = open.at(-1)!;
      const child = rest.pop();
      if (!child) {
        this.behind[number] = this.spans.length;
        open.pop();
      } else if (!this.numberById.has(child.id)) enter(child);
    }
  }

  result() {
    const { spans, depth, behind, parent, numberById } = this;
    return { spans, depth, behind, parent, numberById };
  }
}

/** Positions of the visible calls: descendants of a closed call are skipped. */
export function visibleRows(
  { spans, behind }: Tree<TreeSpan>,
  closed: ReadonlySet<string>,
): number[] {
  const rows: number[] = [];
  for (let n = 0; n < spans.length;) {
    rows.push(n);
    n = closed.has(spans[n]!.id) ? behind[n]! : n + 1;
  }
  return rows;
}

/**
 * The calls that determined the duration of the first root. Walks back from its end, each time to the child that ended
 * last before the time that is already explained.
 */
export function criticalPath({ spans, behind, to }: Tree<TreeSpan>): Set<string> {
  const path = new Set<string>();
  const waiting: { number: number; until: number }[] =
    spans.length > 0 ? [{ number: 0, until: to }] : [];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    path.add(spans[one.number]!.id);
    const children: number[] = [];
    for (let child = one.number + 1; child < behind[one.number]!; child = behind[child]!)
      children.push(child);
    const spanEnd = (n: number) => spans[n]!.end ?? to;
    let { until } = one;
    for (const child of children.toSorted((a, b) => spanEnd(b) - spanEnd(a))) {
      if (spanEnd(child) > until || spans[child]!.start >= until) continue;
      waiting.push({ number: child, until: spanEnd(child) });
      until = spans[child]!.start;
    }
  }
  return path;
}

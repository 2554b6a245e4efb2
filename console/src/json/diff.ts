import type { JsonIndex } from './json-index.ts';

export interface DiffRow {
  depth: number;
  key: string | undefined;
  left: number | undefined;
  right: number | undefined;
  /** `within`: a container with a difference inside; its members follow. */
  state: 'same' | 'changed' | 'added' | 'removed' | 'within';
}

/** Values below this depth are compared as a whole. */
const MOST_DEPTH = 50;
/** Further rows are left out. */
const MOST_ROWS = 20_000;

/**
 * Compares two documents. Members are paired by name (equal names in their order), items by position. Equal texts are
 * one row.
 */
export function diffJson(a: JsonIndex, left: number, b: JsonIndex, right: number): DiffRow[] {
  const rows: DiffRow[] = [];
  const compare = (
    key: string | undefined,
    l: number | undefined,
    r: number | undefined,
    depth: number,
  ): void => {
    if (rows.length >= MOST_ROWS) return;
    const row = (state: DiffRow['state']) => rows.push({ depth, key, left: l, right: r, state });
    if (l === undefined) row('added');
    else if (r === undefined) row('removed');
    else if (a.nodeText(l) === b.nodeText(r)) row('same');
    else if (
      depth >= MOST_DEPTH ||
      a.kind(l) !== b.kind(r) ||
      !a.hasChildren(l) ||
      !b.hasChildren(r)
    )
      row('changed');
    else {
      row('within');
      for (const [name, x, y] of pairs(a, l, b, r)) compare(name, x, y, depth + 1);
    }
  };
  compare(undefined, left, right, 0);
  return rows;
}

type Pair = [key: string | undefined, left: number | undefined, right: number | undefined];

function* pairs(a: JsonIndex, left: number, b: JsonIndex, right: number): Generator<Pair> {
  if (a.kind(left) === 'array') yield* byPlace(a.children(left), b.children(right));
  else yield* byName(a, left, b, right);
}

function* byPlace(ours: Generator<number>, theirs: Generator<number>): Generator<Pair> {
  for (;;) {
    const [l, r] = [ours.next(), theirs.next()];
    if (l.done && r.done) return;
    yield [undefined, l.done ? undefined : l.value, r.done ? undefined : r.value];
  }
}

function* byName(a: JsonIndex, left: number, b: JsonIndex, right: number): Generator<Pair> {
  const waiting = new Map<string, number[]>();
  for (const child of b.children(right)) {
    const key = b.nodeKey(child)!;
    const same = waiting.get(key);
    if (same) same.push(child);
    else waiting.set(key, [child]);
  }
  for (const list of waiting.values()) list.reverse();
  for (const child of a.children(left)) {
    const key = a.nodeKey(child)!;
    yield [key, child, waiting.get(key)?.pop()];
  }
  for (const [key, list] of waiting)
    for (const child of list.toReversed()) yield [key, undefined, child];
}

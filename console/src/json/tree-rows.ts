import type { JsonIndex } from './json-index.ts';

/** Nodes whose state, open or closed, differs from the default. */
export type ToggledNodes = ReadonlySet<number>;

/** Containers of the first levels are open by default, if they have few members. */
const OPEN_DEPTH = 2;
const OPEN_MEMBERS = 100;

export function isOpen(
  index: JsonIndex,
  node: number,
  root: number,
  toggled: ToggledNodes,
): boolean {
  const depth = index.nodes.depth[node]! - index.nodes.depth[root]!;
  const isByItself =
    depth < OPEN_DEPTH && index.countChildren(node, OPEN_MEMBERS + 1) <= OPEN_MEMBERS;
  return isByItself !== toggled.has(node);
}

/** The toggled nodes that make some nodes visible. */
export function toggledAbove(
  index: JsonIndex,
  roots: readonly number[],
  nodes: Iterable<number>,
): Set<number> {
  const { behind } = index.nodes;
  const toggled = new Set<number>();
  for (const node of nodes) {
    const root = roots.find((one) => one <= node && node < behind[one]!);
    for (let above = root ?? node; above < node;) {
      const isAbove = behind[above]! > node;
      if (isAbove && !isOpen(index, above, root!, toggled)) toggled.add(above);
      above = isAbove ? above + 1 : behind[above]!;
    }
  }
  return toggled;
}

/** Lists the visible nodes from a root on. Members of closed containers are skipped. */
export function rowsBelow(index: JsonIndex, root: number, toggled: ToggledNodes): number[] {
  const { behind } = index.nodes;
  const rows: number[] = [];
  for (let node = root; node < behind[root]!;) {
    rows.push(node);
    const isPassed = index.hasChildren(node) && !isOpen(index, node, root, toggled);
    node = isPassed ? behind[node]! : node + 1;
  }
  return rows;
}

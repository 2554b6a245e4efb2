import type { JsonIndex } from './json-index.ts';

/** Nodes that are open or closed against the default. */
export type ToggledNodes = ReadonlySet<number>;

/** What opens by itself: the first levels, of containers with few members. */
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

/** The nodes in sight below a root, which is among them: those in closed containers are passed over. */
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

/** Positions of nodes of one size: columns from callers to callees, rows from the top. */
export interface NodePositions {
  column: number[];
  row: number[];
}

type Pair = Readonly<{ from: number; to: number }>;

/**
 * Places some hundred nodes. The column of a node is the length of the longest path to it, ignoring edges back to a
 * caller. Within a column, nodes are sorted by the mean row of their neighbours, and none is above its first caller.
 */
export function layOutNodes(size: number, edges: readonly Pair[]): NodePositions {
  const callees: number[][] = Array.from({ length: size }, () => []);
  for (const { from, to } of edges) callees[from]!.push(to);
  const { order, forward } = withoutCircles(callees);
  const column = Array.from({ length: size }, () => 0);
  for (const from of order)
    for (const to of forward[from]!) column[to] = Math.max(column[to]!, column[from]! + 1);
  const callers: number[][] = Array.from({ length: size }, () => []);
  for (const [from, all] of forward.entries()) for (const to of all) callers[to]!.push(from);
  const columns: number[][] = [];
  for (const [node, at] of column.entries()) (columns[at] ??= []).push(node);
  const row = Array.from({ length: size }, () => 0);
  for (const nodes of columns) put(nodes, row, callers);
  for (const nodes of columns.toReversed()) sort(nodes, row, forward);
  for (const nodes of columns) {
    sort(nodes, row, callers);
    put(nodes, row, callers);
  }
  return { column, row };
}

/**
 * Removes edges back to an ancestor, and sorts the nodes so that each comes before its callees (depth-first search).
 */
function withoutCircles(callees: readonly number[][]) {
  const state = new Uint8Array(callees.length); // 0 not visited, 1 on the current path, 2 done
  const forward: number[][] = callees.map(() => []);
  const ended: number[] = [];
  for (const start of callees.keys()) {
    if (state[start] !== 0) continue;
    const walked: { node: number; next: number }[] = [{ node: start, next: 0 }];
    state[start] = 1;
    for (let top = walked[0]; top; top = walked.at(-1)) {
      const to = callees[top.node]![top.next++];
      if (to === undefined) {
        state[top.node] = 2;
        ended.push(walked.pop()!.node);
        continue;
      }
      if (state[to] !== 1) forward[top.node]!.push(to);
      if (state[to] !== 0) continue;
      state[to] = 1;
      walked.push({ node: to, next: 0 });
    }
  }
  return { order: ended.toReversed(), forward };
}

/** Sorts nodes by the mean row of their neighbours. A node without neighbours keeps its row as its value. */
function sort(nodes: number[], row: readonly number[], neighbours: readonly number[][]): void {
  const middle = new Map(
    nodes.map((node) => {
      const all = neighbours[node]!;
      const sum = all.reduce((before, one) => before + row[one]!, 0);
      return [node, all.length === 0 ? row[node]! : sum / all.length];
    }),
  );
  nodes.sort((a, b) => middle.get(a)! - middle.get(b)!);
}

function put(nodes: readonly number[], row: number[], callers: readonly number[][]): void {
  let free = 0;
  for (const node of nodes) {
    const first = callers[node]!.reduce((least, one) => Math.min(least, row[one]!), Infinity);
    row[node] = Math.max(free, Number.isFinite(first) ? first : 0);
    free = row[node] + 1;
  }
}

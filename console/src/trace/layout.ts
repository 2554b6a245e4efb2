/** Where nodes of one size stand: columns from the callers to what they call, rows from above. */
export interface NodePositions {
  column: number[];
  row: number[];
}

type Pair = Readonly<{ from: number; to: number }>;

/**
 * A column is the longest way that leads to a node, without the edges that lead back to a caller. In a column, nodes stand in
 * the order of the middle of those that they are connected with, and none above its first caller. For some hundred nodes.
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

/** The edges without those to a node that is being walked, and the nodes with each before all that it calls. */
function withoutCircles(callees: readonly number[][]) {
  const state = new Uint8Array(callees.length); // 1 while it is walked, 2 behind that
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

/** By the middle of the rows of its neighbours; one without any stays where it is. */
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

import { makeGraph } from './graph.ts';
import { layOutNodes } from './layout.ts';
import { makeTree } from './tree.ts';
import type { TraceSpan } from './queries.ts';

type Kind = 'agent' | 'tool' | 'llm';

/** Calls by name: `agent planner` is an agent, `step` a call of unknown kind. Each begins 1 ms after the one before. */
const calls = (...all: [id: string, parent: string | null, name: string, rest?: object][]) =>
  all.map(([id, parentId, name, rest], at): TraceSpan => ({
    id,
    parentId,
    name,
    start: at,
    end: at + 10,
    status: 'success',
    opName: name,
    startedAt: '',
    threadId: null,
    operation: null,
    latency: 10,
    tokens: null,
    cost: null,
    ...rest,
  }));

function graphOf(spans: TraceSpan[], most?: { nodes: number; edges: number }) {
  const tree = makeTree(spans, 0);
  const kindOf = (number: number) => {
    const [kind] = tree.spans[number]!.name.split(' ');
    return ['agent', 'tool', 'llm'].includes(kind!) ? (kind as Kind) : undefined;
  };
  return { tree, ...makeGraph(tree, kindOf, most) };
}

type Drawn = ReturnType<typeof graphOf>;
const node = ({ nodes }: Drawn, name: string) => nodes.find((one) => one.name === name)!;
const edges = ({ nodes, edges: all }: Drawn) =>
  all.map(
    ({ from, to, calls: times, isHandOff }) =>
      `${nodes[from]!.name} → ${nodes[to]!.name} ×${times}${isHandOff ? ' hand-off' : ''}`,
  );
const used = (input: number, output: number, cost: number | null = null) => ({
  tokens: { input, output },
  cost,
});

describe('the graph of a trace', () => {
  it('has a node for each kind and name, below the nearest drawn one', () => {
    const graph = graphOf(
      calls(
        ['a', null, 'agent a'],
        ['s', 'a', 'step'],
        ['t1', 's', 'tool t'],
        ['t2', 's', 'tool t', { status: 'error' }],
        ['m', 't2', 'llm m'],
        ['x', 'a', 'agent b'],
        ['t3', 'x', 'tool t', { end: null, latency: null }],
      ),
    );
    expect(edges(graph)).toEqual([
      'agent a → tool t ×2',
      'tool t → llm m ×1',
      'agent a → agent b ×1',
      'agent b → tool t ×1',
    ]);
    const tool = node(graph, 'tool t');
    expect(tool.calls.map((number) => graph.tree.spans[number]!.id)).toEqual(['t2', 't1', 't3']);
    expect(tool).toMatchObject({ failed: 1, running: 1, ms: 20 });
    expect([...graph.nodeOf].filter((at) => at < 0)).toHaveLength(1);
  });

  it('counts the time of calls of itself once, and says how many they are', () => {
    const graph = graphOf(
      calls(
        ['1', null, 'agent a', { latency: 100 }],
        ['2', '1', 'step'],
        ['3', '2', 'agent a', { latency: 50 }],
        ['4', '3', 'tool t'],
        ['5', '4', 'agent a', { latency: 20 }],
        ['6', null, 'agent a', { latency: 7 }],
      ),
    );
    expect(node(graph, 'agent a')).toMatchObject({ ms: 107, selfCalls: 1 });
    expect(edges(graph)).toEqual(['agent a → tool t ×1', 'tool t → agent a ×1']);
  });

  it('counts no tokens and no cost twice where a parent repeats those below it', () => {
    const graph = graphOf(
      calls(
        ['a', null, 'agent a', used(35, 9, 0.3)],
        ['s', 'a', 'step', used(30, 9, 0.3)],
        ['m1', 's', 'llm m', used(10, 4, 0.1)],
        ['m2', 's', 'llm m', used(20, 5, 0.2)],
      ),
    );
    expect(node(graph, 'llm m')).toMatchObject({ tokens: 39 });
    expect(node(graph, 'llm m').cost).toBeCloseTo(0.3);
    expect(node(graph, 'agent a')).toMatchObject({ tokens: 5, cost: 0 });
  });

  it('draws a hand-off from an agent to the next beside it, and none where nothing says so', () => {
    const graph = graphOf(
      calls(
        ['w', null, 'agent flow'],
        ['a', 'w', 'agent a'],
        ['h', 'a', 'tool transfer_to_b'],
        ['b', 'w', 'agent b'],
        ['c', 'w', 'agent c'],
      ),
    );
    expect(edges(graph)).toEqual([
      'agent flow → agent a ×1',
      'agent a → tool transfer_to_b ×1',
      'agent flow → agent b ×1',
      'agent a → agent b ×1 hand-off',
      'agent flow → agent c ×1',
    ]);
  });

  it('gathers the least called by kind, and draws the edges with the most calls', () => {
    const tools = Array.from({ length: 300 }, (_, n) => `tool ${n}`);
    const graph = graphOf(
      calls(
        ['a', null, 'agent a'],
        ...[...tools, ...tools.slice(250)].map((name, n): [string, string, string] => [
          `c${n}`,
          'a',
          name,
        ]),
        ['m', 'a', 'llm m'],
      ),
    );
    expect(graph.allNames).toBe(302);
    expect(graph.nodes.length).toBeLessThanOrEqual(200);
    const rest = graph.nodes.filter(({ name }) => name === null);
    expect(rest.map(({ kind }) => kind)).toEqual(['tool']);
    const others = graph.nodes.filter(({ kind, name }) => kind === 'tool' && name !== null).length;
    expect(rest[0]!.names + others).toBe(300);
    for (const name of ['agent a', 'llm m', 'tool 299']) expect(node(graph, name)).toBeDefined();
    expect(graph.nodes.reduce((sum, one) => sum + one.calls.length, 0)).toBe(352);
    const few = graphOf(graph.tree.spans, { nodes: 400, edges: 10 });
    expect(few.edges.map((edge) => edge.calls)).toEqual(Array(10).fill(2));
    expect(few.allEdges).toBe(301);
  });

  it('takes calls that are each 20,000 deep, and circles', () => {
    const deep = Array.from({ length: 20_000 }, (_, n): [string, string | null, string] => [
      `${n}`,
      n === 0 ? null : `${n - 1}`,
      n === 0 ? 'agent a' : 'tool hand-off',
    ]);
    expect(node(graphOf(calls(...deep)), 'tool hand-off')).toMatchObject({ selfCalls: 19_998 });
    const circle = graphOf(calls(['a', 'b', 'agent a'], ['b', 'a', 'agent b']));
    expect(edges(circle)).toEqual(['agent a → agent b ×1']);
    expect(graphOf([]).nodes).toEqual([]);
  });
});

describe('the places of nodes', () => {
  const pairs = (...all: [number, number][]) => all.map(([from, to]) => ({ from, to }));

  it('leads from the left to the right by the longest way, without the edges back', () => {
    expect(layOutNodes(4, pairs([0, 1], [1, 2], [0, 2], [2, 0], [0, 3])).column).toEqual([
      0, 1, 2, 1,
    ]);
    expect(layOutNodes(2, pairs([0, 1], [1, 0])).column).toEqual([0, 1]);
    expect(layOutNodes(0, [])).toEqual({ column: [], row: [] });
  });

  it('has no two nodes in one place, and each beside or below its first caller', () => {
    const edge = (n: number): [number, number] => [(n * 7) % 60, (n * n + 13 * n) % 60];
    const all = pairs(...Array.from({ length: 150 }, (_, n) => edge(n))).filter(
      ({ from, to }) => from !== to,
    );
    const { column, row } = layOutNodes(60, all);
    expect(new Set(column.map((x, at) => `${x} ${row[at]}`)).size).toBe(60);
    for (const to of column.keys()) {
      const above = all.filter((one) => one.to === to && column[one.from]! < column[to]!);
      const least = above.length > 0 ? Math.min(...above.map(({ from }) => row[from]!)) : 0;
      expect(row[to]).toBeGreaterThanOrEqual(least);
    }
  });

  it('crosses no edges where none needs to', () => {
    const { row } = layOutNodes(6, pairs([0, 1], [0, 2], [2, 3], [1, 4], [1, 5]));
    expect(row[4]! < row[3]!).toBe(row[1]! < row[2]!);
  });
});

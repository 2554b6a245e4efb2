import { type Edge, HEIGHT, layOut, MORE, nextNode, nodesOnWay, WIDTH } from './lineage-graph.ts';

const call = (id: string) => ({ type: 'call', id }) as const;
const feedback = (id: string) => ({ type: 'feedback', id }) as const;
const build = (id: string) => ({ type: 'build', id }) as const;
const job = (id: string) => ({ type: 'job', id }) as const;
const checkpoint = (step: number) =>
  ({ type: 'checkpoint', model_id: 'm', model: 'tiny', step }) as const;

const CHAIN: Edge[] = [
  { from: build('b'), to: job('j') },
  { from: job('j'), to: checkpoint(1) },
  { from: call('both'), to: build('b') },
  { from: feedback('f'), to: build('b') },
  { from: checkpoint(1), to: call('out') },
  { from: checkpoint(1), to: call('both') },
];

it('draws things in layers, and a call twice that was trained on and made', () => {
  const { nodes, edges, totals } = layOut(CHAIN, {});
  expect(nodes.map(({ id }) => id)).toEqual([
    'inputs/call/both',
    'inputs/feedback/f',
    'builds/build/b',
    'jobs/job/j',
    'checkpoints/checkpoint/m 1',
    'made/call/out',
    'made/call/both',
  ]);
  const columns = new Map(nodes.map(({ layer, x }) => [layer, x]));
  expect([...columns.values()]).toEqual([16, 256, 496, 736, 976]);
  expect(edges).toHaveLength(CHAIN.length);
  expect(totals).toEqual({ call: 1, feedback: 1, build: 1, job: 1, checkpoint: 1, made: 2 });
});

it('leads an edge from the right end of a node to the left end of the next', () => {
  const { nodes, edges } = layOut(CHAIN, {});
  const [made, trained] = [nodes[2]!, nodes[3]!];
  const { path } = edges.find(({ from }) => from === made.id)!;
  expect(path.startsWith(`M${made.x + WIDTH} ${made.y + HEIGHT / 2}C`)).toBe(true);
  expect(path.endsWith(` ${trained.x} ${trained.y + HEIGHT / 2}`)).toBe(true);
});

it('makes one node of many calls of a build, which opens part by part', () => {
  const edges = [
    ...CHAIN,
    ...Array.from({ length: 100 }, (_, n) => ({ from: call(`c${n}`), to: build('b') })),
    { from: call('other'), to: build('b2') },
  ];
  const closed = layOut(edges, {});
  const group = closed.nodes.find(({ count }) => count > 1)!;
  expect(group).toMatchObject({ kind: 'call', thing: null, count: 101, to: ['builds/build/b'] });
  expect(closed.nodes.filter(({ layer }) => layer === 'inputs')).toHaveLength(3);
  const open = layOut(edges, { [group.opens!]: MORE });
  expect(open.nodes.filter(({ layer, thing }) => layer === 'inputs' && thing)).toHaveLength(22);
  expect(open.nodes.find(({ id }) => id === group.id)).toMatchObject({ count: 81 });
  expect(open.totals.call).toBe(102);
});

it('draws a bounded number of nodes, whatever it is given', () => {
  const edges = Array.from({ length: 3000 }, (_, n) => ({
    from: build(`b${n}`),
    to: job(`j${n}`),
  }));
  const { nodes, totals } = layOut(edges, {});
  expect(nodes).toHaveLength(120);
  expect(nodes.find(({ id }) => id === 'builds/rest')).toMatchObject({ count: 2941, opens: null });
  expect(totals.build).toBe(3000);
});

it('places nodes of a layer apart from each other', () => {
  const edges = ['a', 'b', 'c'].map((id) => ({ from: build(id), to: job(id) }));
  const { nodes, height } = layOut(edges, {});
  const tops = nodes.filter(({ layer }) => layer === 'jobs').map(({ y }) => y);
  expect(tops[1]! - tops[0]!).toBeGreaterThan(HEIGHT);
  expect(tops[2]! + HEIGHT).toBeLessThan(height);
});

it('leads by arrow keys along the edges, and names what is on the way', () => {
  const graph = layOut([...CHAIN, { from: build('apart'), to: job('k') }], {});
  expect(nextNode(graph, 'builds/build/b', 'ArrowRight')).toBe('jobs/job/j');
  expect(nextNode(graph, 'builds/build/b', 'ArrowLeft')).toBe('inputs/call/both');
  expect(nextNode(graph, 'builds/build/b', 'ArrowUp')).toBeUndefined();
  expect(nextNode(graph, 'inputs/call/both', 'ArrowDown')).toBe('inputs/feedback/f');
  expect(nextNode(graph, 'builds/build/b', 'Enter')).toBeUndefined();
  const way = nodesOnWay(graph, 'builds/build/b');
  expect(way.has('made/call/out')).toBe(true);
  expect(way.has('jobs/job/k')).toBe(false);
});

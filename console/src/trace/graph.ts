import type { CallKind } from '../ui/KindIcon.tsx';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './queries.ts';

/** The calls of one kind and name, or all remaining names of a kind when the graph is too large. */
export interface GraphNode {
  kind: CallKind;
  /** Null for a node of several names. */
  name: string | null;
  /** Number of different names. */
  names: number;
  /** Positions of the calls in the tree, failed ones first. */
  calls: number[];
  failed: number;
  running: number;
  /** Total duration of the calls that are not below another call of this node. */
  ms: number;
  /** Usage of the calls minus that of the calls below them, so that the nodes add up to the trace. */
  tokens: number;
  cost: number;
  /** Calls that a call of the same node made. */
  selfCalls: number;
}

export interface GraphEdge {
  from: number;
  to: number;
  calls: number;
  /** One agent handed over to the other, which ran after it and not below it. */
  isHandOff: boolean;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** The node of each call; -1 for a call that is not drawn. */
  nodeOf: Int32Array;
  /** Numbers of all names and edges, including those not drawn. */
  allNames: number;
  allEdges: number;
}

/** Kinds without a node: the graph links their parent with the calls below them. */
const UNDRAWN = new Set<CallKind>(['chain', 'event']);

const GRAPH_LIMITS = { nodes: 200, edges: 600 };

/** Words in the names of spans and tools by which frameworks hand over to another agent. */
const HAND_OFF = /hand[-_ ]?off|transfer[-_ ]to[-_ ]/i;

/** Builds the graph of agents, tools, models and retrievers. Takes time proportional to the number of calls. */
export function makeGraph(
  tree: Tree<TraceSpan>,
  kindOf: (number: number) => CallKind | undefined,
  most = GRAPH_LIMITS,
): Graph {
  const { nodes, nodeOf, allNames } = makeNodes(tree, kindOf, most.nodes);
  const all = walk(tree, nodes, nodeOf);
  const edges =
    all.length > most.edges ? all.toSorted((a, b) => b.calls - a.calls).slice(0, most.edges) : all;
  return { nodes, edges, nodeOf, allNames, allEdges: all.length };
}

interface NamedCalls {
  kind: CallKind;
  name: string;
  calls: number;
}

function makeNodes(
  { spans }: Tree<TraceSpan>,
  kindOf: (number: number) => CallKind | undefined,
  most: number,
) {
  const named: NamedCalls[] = [];
  const byKind = new Map<CallKind, Map<string, number>>();
  const nodeOf = new Int32Array(spans.length).fill(-1);
  for (const [number, { name }] of spans.entries()) {
    const kind = kindOf(number);
    if (!kind || UNDRAWN.has(kind)) continue;
    let byName = byKind.get(kind);
    if (!byName) byKind.set(kind, (byName = new Map()));
    let at = byName.get(name);
    if (at === undefined) {
      at = named.push({ kind, name, calls: 0 }) - 1;
      byName.set(name, at);
    }
    named[at]!.calls++;
    nodeOf[number] = at;
  }
  const { nodes, place } = gatherNodes(named, most);
  return { nodes, nodeOf: nodeOf.map((at) => (at < 0 ? at : place[at]!)), allNames: named.length };
}

/**
 * Makes the nodes in the order of their first call. With too many names, the least called ones of a kind share a node.
 */
function gatherNodes(named: readonly NamedCalls[], most: number) {
  const rest = new Map<CallKind, number[]>();
  if (named.length > most) {
    const order = [...named.keys()].toSorted((a, b) => named[b]!.calls - named[a]!.calls);
    const kinds = new Set(named.map(({ kind }) => kind)).size;
    for (const at of order.slice(most - kinds)) {
      const { kind } = named[at]!;
      const others = rest.get(kind);
      if (others) others.push(at);
      else rest.set(kind, [at]);
    }
  }
  const isGathered = new Uint8Array(named.length);
  for (const all of rest.values()) if (all.length > 1) for (const at of all) isGathered[at] = 1;
  const nodes: GraphNode[] = [];
  const gatherer = new Map<CallKind, number>();
  const place = named.map(({ kind, name }, at) => {
    const found = isGathered[at] ? gatherer.get(kind) : undefined;
    if (found !== undefined) {
      nodes[found]!.names++;
      return found;
    }
    const own = nodes.push(aNode(kind, isGathered[at] ? null : name)) - 1;
    if (isGathered[at]) gatherer.set(kind, own);
    return own;
  });
  return { nodes, place };
}

const aNode = (kind: CallKind, name: string | null): GraphNode => ({
  kind,
  name,
  names: 1,
  calls: [],
  failed: 0,
  running: 0,
  ms: 0,
  tokens: 0,
  cost: 0,
  selfCalls: 0,
});

/** Sums up the nodes and returns the edges. */
function walk(tree: Tree<TraceSpan>, nodes: GraphNode[], nodeOf: Int32Array): GraphEdge[] {
  const own = ownUse(tree);
  const failed: number[][] = nodes.map(() => []);
  const open = new OpenCalls(tree, nodes, nodeOf);
  const edges = new EdgeCounts(nodes, nodeOf);
  for (const [number, span] of tree.spans.entries()) {
    open.leaveUntil(number);
    edges.hear(span.name, open.agent);
    const at = nodeOf[number]!;
    if (at < 0) continue;
    const node = nodes[at]!;
    if (!open.has(at)) node.ms += span.latency ?? 0;
    if (span.end === null) node.running++;
    node.tokens += own.tokens[number]!;
    node.cost += own.cost[number]!;
    (span.status === 'error' ? failed[at]! : node.calls).push(number);
    edges.lead(open.call, number);
    open.enter(number);
  }
  for (const [at, node] of nodes.entries()) {
    node.failed = failed[at]!.length;
    node.calls = [...failed[at]!, ...node.calls];
  }
  return edges.all;
}

/**
 * Counts edges: from a call's nearest drawn ancestor, and to an agent from the previous agent that handed over to it.
 */
class EdgeCounts {
  private readonly byPair = new Map<number, GraphEdge>();
  private readonly handsOver = new Set<number>();
  /** The last agent directly below a call, keyed by the call's position. */
  private readonly agentBelow = new Map<number, number>();

  constructor(
    private readonly nodes: readonly GraphNode[],
    private readonly nodeOf: Int32Array,
  ) {}

  /** Notes a call below an agent; its name may be that of a hand-over. */
  hear(name: string, agent: number): void {
    if (agent >= 0 && HAND_OFF.test(name)) this.handsOver.add(agent);
  }

  lead(above: number, number: number): void {
    const at = this.nodeOf[number]!;
    if (above >= 0) this.add(this.nodeOf[above]!, at, false);
    if (this.nodes[at]!.kind !== 'agent') return;
    const before = this.agentBelow.get(above);
    if (before !== undefined && this.handsOver.has(before) && this.nodeOf[before] !== at)
      this.add(this.nodeOf[before]!, at, true);
    this.agentBelow.set(above, number);
  }

  get all(): GraphEdge[] {
    return [...this.byPair.values()];
  }

  private add(from: number, to: number, isHandOff: boolean): void {
    if (from === to) {
      this.nodes[to]!.selfCalls++;
      return;
    }
    const key = from * this.nodes.length + to;
    const edge = this.byPair.get(key);
    if (!edge) this.byPair.set(key, { from, to, calls: 1, isHandOff });
    else {
      edge.calls++;
      edge.isHandOff ||= isHandOff;
    }
  }
}

/** The drawn ancestors of the current call. */
class OpenCalls {
  private readonly calls: number[] = [];
  private readonly agents: number[] = [];
  private readonly ofNode: Uint32Array;

  constructor(
    private readonly tree: Tree<TraceSpan>,
    private readonly nodes: readonly GraphNode[],
    private readonly nodeOf: Int32Array,
  ) {
    this.ofNode = new Uint32Array(nodes.length);
  }

  enter(number: number): void {
    const at = this.nodeOf[number]!;
    this.calls.push(number);
    if (this.nodes[at]!.kind === 'agent') this.agents.push(number);
    this.ofNode[at]!++;
  }

  leaveUntil(number: number): void {
    while (this.call >= 0 && this.tree.behind[this.call]! <= number) {
      const left = this.calls.pop()!;
      if (this.agent === left) this.agents.pop();
      this.ofNode[this.nodeOf[left]!]!--;
    }
  }

  has(node: number): boolean {
    return this.ofNode[node]! > 0;
  }

  /** The nearest drawn ancestor; -1 without one. */
  get call(): number {
    return this.calls.at(-1) ?? -1;
  }

  get agent(): number {
    return this.agents.at(-1) ?? -1;
  }
}

/** Smaller differences are rounding errors of sums. */
const NOISE = 1e-12;

/** The usage of each call minus that of the nearest calls below it that report any, since parents often repeat it. */
function ownUse(tree: Tree<TraceSpan>) {
  const beyond = (told: (span: TraceSpan) => number | null | undefined): Float64Array => {
    const own = new Float64Array(tree.spans.length);
    const below = new Float64Array(tree.spans.length);
    for (let n = tree.spans.length - 1; n >= 0; n--) {
      const said = told(tree.spans[n]!) ?? undefined;
      if (said !== undefined && said - below[n]! > NOISE) own[n] = said - below[n]!;
      if (tree.parent[n]! >= 0) below[tree.parent[n]!]! += said ?? below[n]!;
    }
    return own;
  };
  const input = beyond(({ tokens }) => tokens?.input);
  const output = beyond(({ tokens }) => tokens?.output);
  return { tokens: input.map((n, at) => n + output[at]!), cost: beyond(({ cost }) => cost) };
}

import type { Schema } from '../api/client.ts';

export type Edge = Schema<'LineageEdgeDto'>;
type LineageItem = Edge['from'];

/** The layers from left to right. Nodes of a layer are placed below each other. */
export const LAYERS = ['inputs', 'builds', 'jobs', 'checkpoints', 'made'] as const;
type Layer = (typeof LAYERS)[number];

export const WIDTH = 176;
export const HEIGHT = 32;
const GAP = 8;
/** Space between two layers, for the edges. */
const SPACE = 64;
export const MARGIN = 16;

/** At most this many things with the same edges are drawn one by one; more share a node. */
const MOST_ALONE = 4;
/** Things that each click on a group adds to the drawing. */
export const MORE = 20;
/** The most nodes of a layer. The last node stands for all further ones. */
const MOST_NODES = 60;

/** A node for one thing, or for several things of a kind with the same edges. */
export interface GraphNode {
  /** Does not change when the graph is drawn again. */
  id: string;
  kind: LineageItem['type'];
  layer: Layer;
  /** Null for a node of several things. */
  thing: LineageItem | null;
  /** Number of things in the node. */
  count: number;
  /** The group that a click opens further; null for a single thing, and for the last node of a full layer. */
  opens: string | null;
  x: number;
  y: number;
  from: string[];
  to: string[];
}

export interface Graph {
  nodes: GraphNode[];
  edges: { id: string; from: string; to: string; path: string }[];
  /** Numbers of all things, including those not drawn one by one. */
  totals: Record<LineageItem['type'] | 'made', number>;
  width: number;
  height: number;
}

/** Number of things of a group that are drawn one by one; 0 for a group without an entry. */
export type OpenedGroups = Readonly<Record<string, number>>;

interface GraphMember {
  key: string;
  thing: LineageItem;
  layer: Layer;
  from: Set<string>;
  to: Set<string>;
}

/**
 * Draws the edges as a graph in layers. A call that a checkpoint made and that was trained on is in both call layers.
 */
export function layOut(edges: readonly Edge[], opened: OpenedGroups): Graph {
  const members = findMembers(edges);
  const nodes = new Map<string, GraphNode>();
  /** The node of each thing. */
  const drawnIn = new Map<string, string>();
  for (const layer of LAYERS) {
    const drawn = drawLayer(
      [...members.values()].filter((member) => member.layer === layer),
      opened,
    );
    for (const { node, keys } of drawn) {
      nodes.set(node.id, node);
      for (const key of keys) drawnIn.set(key, node.id);
    }
  }
  const found = new Map<string, { id: string; from: string; to: string }>();
  for (const { key, to } of members.values())
    for (const next of to) {
      const [a, b] = [drawnIn.get(key)!, drawnIn.get(next)!];
      found.set(`${a} ${b}`, { id: `${a} ${b}`, from: a, to: b });
    }
  for (const { from, to } of found.values()) {
    nodes.get(from)!.to.push(to);
    nodes.get(to)!.from.push(from);
  }
  const size = placeNodes(nodes);
  return {
    nodes: [...nodes.values()],
    edges: [...found.values()].map((edge) => ({
      ...edge,
      path: curve(nodes.get(edge.from)!, nodes.get(edge.to)!),
    })),
    totals: countThings(members.values()),
    ...size,
  };
}

function findMembers(edges: readonly Edge[]): Map<string, GraphMember> {
  const members = new Map<string, GraphMember>();
  const member = (thing: LineageItem, isMade: boolean) => {
    const layer = layerFor(thing, isMade);
    const key = `${layer}/${thing.type}/${thingId(thing)}`;
    const known = members.get(key);
    if (known) return known;
    const added = { key, thing, layer, from: new Set<string>(), to: new Set<string>() };
    members.set(key, added);
    return added;
  };
  for (const { from, to } of edges) {
    const [a, b] = [member(from, false), member(to, to.type === 'call')];
    a.to.add(b.key);
    b.from.add(a.key);
  }
  return members;
}

function layerFor({ type }: LineageItem, isMade: boolean): Layer {
  if (type === 'build') return 'builds';
  if (type === 'job') return 'jobs';
  if (type === 'checkpoint') return 'checkpoints';
  return isMade ? 'made' : 'inputs';
}

const thingId = (thing: LineageItem): string =>
  thing.type === 'checkpoint' ? `${thing.model_id} ${thing.step}` : thing.id;

function countThings(members: Iterable<GraphMember>): Graph['totals'] {
  const totals = { call: 0, feedback: 0, build: 0, job: 0, checkpoint: 0, made: 0 };
  for (const { thing, layer } of members) totals[layer === 'made' ? 'made' : thing.type]++;
  return totals;
}

interface Drawn {
  node: GraphNode;
  keys: string[];
}

/**
 * Groups the things of a layer that have the same edges. When the layer has too many nodes, the last one stands for the
 * rest.
 */
function drawLayer(members: readonly GraphMember[], opened: OpenedGroups): Drawn[] {
  const groups = new Map<string, GraphMember[]>();
  for (const member of members) {
    const ends = [[...member.from].toSorted(), [...member.to].toSorted()];
    const group = JSON.stringify([member.thing.type, ends]);
    const same = groups.get(group);
    if (same) same.push(member);
    else groups.set(group, [member]);
  }
  const drawn = [...groups.values()].flatMap((group) => drawGroup(group, opened));
  if (drawn.length <= MOST_NODES) return drawn;
  const rest = drawn.slice(MOST_NODES - 1);
  const keys = rest.flatMap((one) => one.keys);
  const { layer, kind } = rest[0]!.node;
  const node = aNode({ id: `${layer}/rest`, layer, kind, thing: null, count: keys.length });
  return [...drawn.slice(0, MOST_NODES - 1), { node, keys }];
}

function drawGroup(group: readonly GraphMember[], opened: OpenedGroups): Drawn[] {
  const [{ layer, thing, key }] = group as [GraphMember];
  const id = `group of ${key}`;
  const shown = group.length <= MOST_ALONE ? group.length : (opened[id] ?? 0);
  const alone = group.slice(0, shown).map((member) => ({
    node: aNode({ id: member.key, layer, kind: thing.type, thing: member.thing, count: 1 }),
    keys: [member.key],
  }));
  const rest = group.slice(shown);
  if (rest.length === 0) return alone;
  const node = aNode({ id, layer, kind: thing.type, thing: null, count: rest.length, opens: id });
  return [...alone, { node, keys: rest.map((member) => member.key) }];
}

const aNode = (
  node: Omit<GraphNode, 'x' | 'y' | 'from' | 'to' | 'opens'> & { opens?: string },
): GraphNode => ({ opens: null, ...node, x: 0, y: 0, from: [], to: [] });

/** Sorts each layer by the position of its sources, so that few edges cross, and centres it vertically. */
function placeNodes(nodes: ReadonlyMap<string, GraphNode>): { width: number; height: number } {
  const layers = LAYERS.map((layer) => [...nodes.values()].filter((node) => node.layer === layer));
  const most = Math.max(1, ...layers.map((layer) => layer.length));
  const inner = most * (HEIGHT + GAP) - GAP;
  layers.forEach((layer, column) => {
    // nodes without a source come last
    const middle = ({ from }: GraphNode) =>
      from.length === 0 ? inner : from.reduce((sum, id) => sum + nodes.get(id)!.y, 0) / from.length;
    if (column > 0) layer.sort((a, b) => middle(a) - middle(b));
    const top = MARGIN + (inner - (layer.length * (HEIGHT + GAP) - GAP)) / 2;
    layer.forEach((node, place) => {
      node.x = MARGIN + column * (WIDTH + SPACE);
      node.y = top + place * (HEIGHT + GAP);
    });
  });
  return {
    width: 2 * MARGIN + LAYERS.length * (WIDTH + SPACE) - SPACE,
    height: 2 * MARGIN + inner,
  };
}

/** The path of an edge, from the right side of a node to the left side of another. */
function curve(from: GraphNode, to: GraphNode): string {
  const [x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

/** The node that an arrow key moves to; undefined at the end of the graph. */
export function nextNode({ nodes }: Graph, id: string, key: string): string | undefined {
  const node = nodes.find((one) => one.id === id);
  if (!node) return undefined;
  if (key === 'ArrowRight') return node.to[0];
  if (key === 'ArrowLeft') return node.from[0];
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  const column = nodes.filter(({ layer }) => layer === node.layer).toSorted((a, b) => a.y - b.y);
  return step === 0 ? undefined : column[column.indexOf(node) + step]?.id;
}

/** A node with all its ancestors and descendants. */
export function nodesOnWay({ nodes }: Graph, id: string): Set<string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const found = new Set([id]);
  for (const side of ['from', 'to'] as const) {
    const open = [id];
    for (let at = open.pop(); at !== undefined; at = open.pop())
      for (const next of byId.get(at)?.[side] ?? []) {
        if (found.has(next)) continue;
        found.add(next);
        open.push(next);
      }
  }
  return found;
}

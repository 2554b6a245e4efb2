import type { Schema } from '../api/client.ts';

export type Edge = Schema<'LineageEdgeDto'>;
type LineageItem = Edge['from'];

/** What stands below each other, from left to right. */
export const LAYERS = ['inputs', 'builds', 'jobs', 'checkpoints', 'made'] as const;
type Layer = (typeof LAYERS)[number];

export const WIDTH = 176;
export const HEIGHT = 32;
const GAP = 8;
/** Between two layers, for the edges. */
const SPACE = 64;
export const MARGIN = 16;

/** So many things that lead from and to the same are drawn one by one; more are one node. */
const MOST_ALONE = 4;
/** Things of a group that are shown when it is opened, and each time more are asked for. */
export const MORE = 20;
/** Nodes of a layer. What goes beyond them is counted. */
const MOST_NODES = 60;

/** What a node stands for: one thing, or several of a kind that lead from and to the same. */
export interface GraphNode {
  /** Stays the same while the graph is drawn anew. */
  id: string;
  kind: LineageItem['type'];
  layer: Layer;
  /** One of a group that is closed, and of the rest of one that is open, is none of them. */
  thing: LineageItem | null;
  /** How many things it stands for. */
  count: number;
  /** The group that a click opens, or shows more of; null for a thing, and where no more is drawn. */
  opens: string | null;
  x: number;
  y: number;
  from: string[];
  to: string[];
}

export interface Graph {
  nodes: GraphNode[];
  edges: { id: string; from: string; to: string; path: string }[];
  /** Of all things, also of those that are not drawn one by one. */
  totals: Record<LineageItem['type'] | 'made', number>;
  width: number;
  height: number;
}

/** How many things of a group are shown one by one; none where it is not named. */
export type OpenedGroups = Readonly<Record<string, number>>;

interface GraphMember {
  key: string;
  thing: LineageItem;
  layer: Layer;
  from: Set<string>;
  to: Set<string>;
}

/** The edges as a graph in layers; a call that was trained on and was made by a checkpoint stands in both. */
export function layOut(edges: readonly Edge[], opened: OpenedGroups): Graph {
  const members = findMembers(edges);
  const nodes = new Map<string, GraphNode>();
  /** The node that a thing is drawn in. */
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

/** Those that lead from and to the same are a group. Of more nodes than a layer has room for, the last are one. */
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

/** Each layer in the order of what it comes from, so that few edges cross, and in the middle of the height. */
function placeNodes(nodes: ReadonlyMap<string, GraphNode>): { width: number; height: number } {
  const layers = LAYERS.map((layer) => [...nodes.values()].filter((node) => node.layer === layer));
  const most = Math.max(1, ...layers.map((layer) => layer.length));
  const inner = most * (HEIGHT + GAP) - GAP;
  layers.forEach((layer, column) => {
    // what comes from nothing stands last
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

/** From the right end of a node to the left end of another one. */
function curve(from: GraphNode, to: GraphNode): string {
  const [x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

/** The node that an arrow key leads to; undefined at the end of a way. */
export function nextNode({ nodes }: Graph, id: string, key: string): string | undefined {
  const node = nodes.find((one) => one.id === id);
  if (!node) return undefined;
  if (key === 'ArrowRight') return node.to[0];
  if (key === 'ArrowLeft') return node.from[0];
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  const column = nodes.filter(({ layer }) => layer === node.layer).toSorted((a, b) => a.y - b.y);
  return step === 0 ? undefined : column[column.indexOf(node) + step]?.id;
}

/** A node, and all on the ways that lead to it and from it. */
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

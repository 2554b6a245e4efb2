import { type CSSProperties, useEffect, useMemo, useRef, useState } from 'react';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { count, duration, money } from '../ui/format.ts';
import { type CallKind, KindIcon } from '../ui/KindIcon.tsx';
import { callKind } from './call-kind.ts';
import { type Graph, type GraphEdge, type GraphNode, makeGraph } from './graph.ts';
import styles from './graph.module.css';
import { layOutNodes } from './layout.ts';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './queries.ts';

const [WIDTH, HEIGHT] = [210, 76];
const [BETWEEN_COLUMNS, BETWEEN_ROWS] = [90, 26];
const MARGIN = 24;
/** A large graph is scaled down to this by itself, then it scrolls. The user may scale it further. */
const LEAST_SCALE = 0.75;
/** Longer names are cut; the title attribute has the whole name. */
const MOST_NAME = 120;
const MOST_CALLERS = 5;

const KIND_PLURALS: Record<CallKind, string> = {
  llm: 'models',
  tool: 'tools',
  agent: 'agents',
  retrieval: 'retrievals',
  embedding: 'embeddings',
  chain: 'chains',
  guardrail: 'guardrails',
  evaluator: 'evaluators',
  reranker: 'rerankers',
  event: 'events',
};

type Point = readonly [x: number, y: number];

/** Draws a trace as a graph: one node for each agent, tool, model and retriever, with edges from caller to callee. */
export function GraphView({
  tree,
  selected,
  marked,
  onPick,
}: {
  tree: Tree<TraceSpan>;
  selected: string;
  marked: readonly TraceSpan[] | undefined;
  onPick: (id: string) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [isFitted, fit] = useState(false);
  const width = useWidth(scroller);
  const graph = useMemo(() => makeGraph(tree, (number) => callKind(tree, number)), [tree]);
  const drawn = useMemo(() => graphGeometry(graph), [graph]);
  const chosen = tree.numberById.get(selected) ?? -1;
  const current = graph.nodeOf[chosen] ?? -1;
  const found = useMemo(
    () => marked && new Set(marked.map(({ id }) => graph.nodeOf[tree.numberById.get(id)!])),
    [marked, graph, tree],
  );
  useEffect(() => {
    if (current < 0) return;
    const node = scroller.current?.querySelector(`[data-node="${current}"]`);
    node?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current, selected]);
  const fitting = Math.min(1, width / drawn.width);
  const scale = isFitted ? fitting : Math.max(LEAST_SCALE, fitting);
  const pick = ({ calls }: GraphNode) => {
    const next = calls[(calls.indexOf(chosen) + 1) % calls.length]!;
    onPick(tree.spans[next]!.id);
  };
  return (
    <div className={styles['graph']}>
      <div className={styles['bar']}>
        <p>{graphNote(graph)}</p>
        <Button look="quiet" aria-pressed={isFitted} onClick={() => fit(!isFitted)}>
          Fit width
        </Button>
      </div>
      <div
        ref={scroller}
        role="region"
        aria-label="Graph"
        tabIndex={0}
        className={styles['scroller']}
      >
        <div
          className={styles['sheet']}
          style={
            {
              width: drawn.width * scale,
              height: drawn.height * scale,
              '--scale': scale,
              '--node-width': `${WIDTH}px`,
              '--node-height': `${HEIGHT}px`,
            } as CSSProperties
          }
        >
          <svg width={drawn.width} height={drawn.height} aria-hidden="true">
            <defs>
              <marker
                id="graph-arrow"
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerUnits="userSpaceOnUse"
                markerWidth="8"
                markerHeight="8"
                orient="auto"
              >
                <path d="M0 0.5 7.5 4 0 7.5Z" className={styles['arrow']} />
              </marker>
            </defs>
            {drawn.lines.map(({ edge, path, label, at: [x, y] }) => (
              <g
                key={`${edge.from} ${edge.to}`}
                className={styles['edge']}
                data-hand-off={edge.isHandOff || undefined}
                data-current={edge.from === current || edge.to === current || undefined}
              >
                <path d={path} markerEnd="url(#graph-arrow)" />
                {label !== '' && (
                  <text x={x} y={y} textAnchor="middle">
                    {label}
                  </text>
                )}
              </g>
            ))}
            {graph.nodes.map(
              (node, at) =>
                node.selfCalls > 0 && (
                  <g key={drawn.keys[at]} className={styles['edge']} data-loop>
                    <path d={loopOf(drawn.points[at]!)} markerEnd="url(#graph-arrow)" />
                    <text
                      x={drawn.points[at]![0] + WIDTH - 50}
                      y={drawn.points[at]![1] - 6}
                      textAnchor="end"
                    >
                      {selfText(node)}
                    </text>
                  </g>
                ),
            )}
          </svg>
          <ul aria-label="Agents, tools and models">
            {graph.nodes.map((node, at) => (
              <li
                key={drawn.keys[at]}
                style={{
                  transform: `translate(${drawn.points[at]![0]}px, ${drawn.points[at]![1]}px)`,
                }}
              >
                <GraphNodeBox
                  node={node}
                  at={at}
                  chosen={at === current ? node.calls.indexOf(chosen) : -1}
                  isDim={found !== undefined && !found.has(at)}
                  callers={drawn.callers[at]!}
                  onPress={() => pick(node)}
                />
              </li>
            ))}
          </ul>
        </div>
      </div>
    </div>
  );
}

function GraphNodeBox({
  node,
  at,
  chosen,
  isDim,
  callers,
  onPress,
}: {
  node: GraphNode;
  at: number;
  /** Index of the selected one of its calls; -1 for none. */
  chosen: number;
  isDim: boolean;
  callers: string;
  onPress: () => void;
}) {
  return (
    <button
      type="button"
      className={styles['node']}
      data-node={at}
      data-kind={node.kind}
      data-failed={node.failed > 0 || undefined}
      data-dim={isDim || undefined}
      aria-current={chosen >= 0 || undefined}
      onClick={onPress}
    >
      <span className={styles['name']}>
        <KindIcon kind={node.kind} />
        <b title={node.name === null ? undefined : visible(node.name)}>{nameOf(node)}</b>
      </span>
      <Facts node={node} chosen={chosen} />
      <span className="visually-hidden">
        {node.selfCalls > 0 && `, ${selfText(node)}`}
        {callers && `, called by ${callers}`}
      </span>
    </button>
  );
}

function Facts({ node, chosen }: { node: GraphNode; chosen: number }) {
  const { calls, failed, running, ms, tokens, cost } = node;
  return (
    <>
      <span className={styles['facts']}>
        <span>
          {chosen >= 0 && `${(chosen + 1).toLocaleString('en-US')} of `}
          {calls.length.toLocaleString('en-US')} {calls.length === 1 ? 'call' : 'calls'}
        </span>
        {failed > 0 && <strong>{count(failed)} failed</strong>}
        {running > 0 && <span>{count(running)} running</span>}
      </span>
      <span className={styles['facts']}>
        <span>{ms === 0 && running > 0 ? '' : duration(ms)}</span>
        {tokens > 0 && <span>{count(tokens)} tokens</span>}
        {cost > 0 && <span>{money(cost)}</span>}
      </span>
    </>
  );
}

function nameOf({ kind, name, names }: GraphNode): string {
  if (name === null) return `and ${names.toLocaleString('en-US')} more ${KIND_PLURALS[kind]}`;
  if (name.trim() === '') return '(no name)';
  return visible(name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name);
}

const times = (calls: number) => (calls > 1 ? `×${count(calls)}` : '');

const selfText = ({ name, selfCalls }: GraphNode): string =>
  `${name === null ? 'call each other' : 'calls itself'} ${times(selfCalls)}`.trim();

const labelOf = ({ isHandOff, calls }: GraphEdge): string =>
  `${isHandOff ? 'hand-off' : ''} ${times(calls)}`.trim();

function graphNote({ nodes, edges, allNames, allEdges }: Graph): string {
  const isGathered = nodes.some(({ name }) => name === null);
  const parts = [
    isGathered
      ? `${allNames.toLocaleString('en-US')} agents, tools and models. Those with the fewest calls are drawn as one node of each kind.`
      : `${allNames} ${allNames === 1 ? 'node' : 'nodes'}. Tokens and cost do not include the calls below.`,
    edges.length < allEdges &&
      `The graph shows the ${edges.length} connections with the most calls, of ${allEdges.toLocaleString('en-US')}.`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** Computes the positions of nodes and edges in pixels, before scaling. */
function graphGeometry({ nodes, edges }: Graph) {
  const { column, row } = layOutNodes(nodes.length, edges);
  const points = nodes.map((_, at): Point => [
    MARGIN + column[at]! * (WIDTH + BETWEEN_COLUMNS),
    MARGIN + row[at]! * (HEIGHT + BETWEEN_ROWS),
  ]);
  const callers = nodes.map((): string[] => []);
  for (const { from, to } of edges) callers[to]!.push(nameOf(nodes[from]!));
  return {
    points,
    keys: nodes.map(({ kind, name }) => `${kind} ${name === null ? '' : `. ${name}`}`),
    callers: callers.map(namesOf),
    lines: edges.map((edge) => ({
      edge,
      label: labelOf(edge),
      ...lineOf(points[edge.from]!, points[edge.to]!),
    })),
    width: Math.max(...points.map(([x]) => x)) + WIDTH + MARGIN,
    height: Math.max(...points.map(([, y]) => y)) + HEIGHT + MARGIN,
  };
}

const namesOf = (names: readonly string[]): string =>
  names.length > MOST_CALLERS
    ? `${names.slice(0, MOST_CALLERS).join(', ')} and ${names.length - MOST_CALLERS} more`
    : names.join(', ');

/**
 * The path of an edge from the right side of the caller to the left side of the callee. An edge back to a caller runs
 * the other way. An edge past other columns runs between two rows, so that it crosses no node.
 */
function lineOf([fromX, fromY]: Point, [toX, toY]: Point): { path: string; at: Point } {
  const isBack = toX < fromX;
  const [way, height] = isBack ? [-1, HEIGHT * 0.8] : [1, HEIGHT * 0.4];
  const [x1, y1] = [isBack ? fromX : fromX + WIDTH, fromY + height];
  const [x2, y2] = [isBack ? toX + WIDTH : toX, toY + height];
  const bend = (way * BETWEEN_COLUMNS) / 2;
  const lane = toY > fromY ? toY - BETWEEN_ROWS / 2 : toY + HEIGHT + BETWEEN_ROWS / 2;
  const curve = (x: number, from: number, to: number) =>
    `C${x + bend} ${from} ${x + bend} ${to} ${x + 2 * bend} ${to}`;
  const isFar = Math.abs(x2 - x1) > BETWEEN_COLUMNS;
  const past = isFar ? `${curve(x1, y1, lane)}H${x2 - 2 * bend}` : '';
  return {
    path: `M${x1} ${y1}${past}${curve(x2 - 2 * bend, isFar ? lane : y1, y2)}`,
    // near the callee, because edges of one caller begin close together
    at: [x2 - way * BETWEEN_COLUMNS * 0.35, y2 - 5],
  };
}

const loopOf = ([x, y]: Point): string =>
  `M${x + WIDTH - 44} ${y}C${x + WIDTH - 44} ${y - 22} ${x + WIDTH - 14} ${y - 22} ${x + WIDTH - 14} ${y}`;

function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(Infinity);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

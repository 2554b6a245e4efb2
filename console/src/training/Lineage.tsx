import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { count } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { lineageQuery, type LineageRequest, tracesQuery } from './queries.ts';
import { shortId } from './Jobs.tsx';
import {
  type Graph,
  type GraphNode,
  LAYERS,
  layOut,
  MARGIN,
  MORE,
  nextNode,
  nodesOnWay,
  type OpenedGroups,
} from './lineage-graph.ts';
import styles from './training.module.css';

interface ProjectParams {
  entity: string;
  project: string;
}

export function Lineage({ entity, project, of }: ProjectParams & { of: LineageRequest }) {
  const { data, error, refetch } = useQuery(lineageQuery(`${entity}/${project}`, of));
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={8} />;
  if (data.edges.length === 0)
    return (
      <EmptyState title="No lineage">
        <p>
          Builds and what is trained on them have a lineage. Groups that were sent from elsewhere
          have none. Record calls of the model <code>name:stepN</code> to see them here.
        </p>
      </EmptyState>
    );
  return (
    <LineageGraph
      entity={entity}
      project={project}
      edges={data.edges}
      note={data.has_more ? 'There are more calls than this page counts.' : undefined}
    />
  );
}

function LineageGraph({
  entity,
  project,
  edges,
  note,
}: ProjectParams & { edges: Parameters<typeof layOut>[0]; note: string | undefined }) {
  const [opened, setOpened] = useState<OpenedGroups>({});
  const [active, setActive] = useState<string>();
  const graph = useMemo(() => layOut(edges, opened), [edges, opened]);
  const onWay = useMemo(
    () => (active === undefined ? undefined : nodesOnWay(graph, active)),
    [graph, active],
  );
  const box = useRef<HTMLDivElement>(null);
  /** The nodes before a group was opened. The first new node gets the focus. */
  const before = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    const added = graph.nodes.find(({ id }) => before.current?.has(id) === false);
    before.current = undefined;
    if (added) focusNode(box.current, added.id);
  }, [graph]);

  const open = (group: string) => {
    before.current = new Set(graph.nodes.map(({ id }) => id));
    setOpened({ ...opened, [group]: (opened[group] ?? 0) + MORE });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = active === undefined ? undefined : nextNode(graph, active, event.key);
    if (next !== undefined && focusNode(box.current, next)) event.preventDefault();
  };
  const calls = graph.nodes.flatMap(({ thing }) => (thing?.type === 'call' ? [thing.id] : []));
  const { data: traces } = useQuery(tracesQuery(`${entity}/${project}`, calls));
  return (
    <div className={styles['lineage']}>
      <div className={styles['bar']}>
        <p>{summary(graph.totals)}</p>
        {note !== undefined && <p className={styles['soft']}>{note}</p>}
        {Object.keys(opened).length > 0 && (
          <Button onClick={() => setOpened({})}>Close the groups</Button>
        )}
      </div>
      <div
        ref={box}
        className={styles['graphBox']}
        tabIndex={0}
        role="region"
        aria-label="Lineage"
        onKeyDown={onKeyDown}
      >
        <div
          className={styles['graph']}
          style={{ width: graph.width, height: graph.height + HEAD }}
        >
          <svg width={graph.width} height={graph.height} aria-hidden="true">
            {graph.edges.map(({ id, from, to, path }) => (
              <path key={id} d={path} data-on={isBoth(onWay, from, to) || undefined} />
            ))}
          </svg>
          <ol>
            {LAYERS.map((layer, column) => (
              <li key={layer}>
                <Heading layer={layer} column={column} graph={graph} />
                <ul>
                  {graph.nodes
                    .filter((node) => node.layer === layer)
                    .map((node) => (
                      <li
                        key={node.id}
                        data-node={node.id}
                        data-kind={node.kind}
                        data-faint={(onWay && !onWay.has(node.id)) || undefined}
                        className={styles['node']}
                        style={{ left: node.x, top: node.y + HEAD }}
                        onFocus={() => setActive(node.id)}
                        onBlur={() => setActive(undefined)}
                        onMouseEnter={() => setActive(node.id)}
                        onMouseLeave={() => setActive(undefined)}
                      >
                        <LineageNode
                          entity={entity}
                          project={project}
                          node={node}
                          traces={traces}
                          onOpen={open}
                        />
                        <span className="visually-hidden">{leadsToText(graph, node)}</span>
                      </li>
                    ))}
                </ul>
              </li>
            ))}
          </ol>
        </div>
      </div>
    </div>
  );
}

/** Height of the headings above the nodes. */
const HEAD = 28;
/** Distance between the left sides of two layers. */
const COLUMN = 240;

const isBoth = (onWay: ReadonlySet<string> | undefined, from: string, to: string) =>
  onWay !== undefined && onWay.has(from) && onWay.has(to);

/** Focuses a node. Returns false when it has no link or button: a deleted call has none. */
function focusNode(box: HTMLElement | null, id: string): boolean {
  const target = box?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"] :is(a, button)`);
  target?.focus();
  return target !== undefined && target !== null;
}

const TITLES = {
  inputs: 'Calls',
  builds: 'Builds',
  jobs: 'Jobs',
  checkpoints: 'Checkpoints',
  made: 'Calls of checkpoints',
} as const;

function Heading({
  layer,
  column,
  graph: { totals },
}: {
  layer: (typeof LAYERS)[number];
  column: number;
  graph: Graph;
}) {
  const amount = {
    inputs: totals.call,
    builds: totals.build,
    jobs: totals.job,
    checkpoints: totals.checkpoint,
    made: totals.made,
  }[layer];
  return (
    <h2 style={{ left: MARGIN + column * COLUMN }}>
      {TITLES[layer]} <small>{count(amount)}</small>
      {layer === 'inputs' && totals.feedback > 0 && (
        <span>
          {' '}
          Feedback <small>{count(totals.feedback)}</small>
        </span>
      )}
    </h2>
  );
}

function LineageNode({
  entity,
  project,
  node,
  traces,
  onOpen,
}: ProjectParams & {
  node: GraphNode;
  traces: ReadonlyMap<string, string> | undefined;
  onOpen: (group: string) => void;
}) {
  const { thing, opens } = node;
  const params = { entity, project };
  if (!thing)
    return opens === null ? (
      <span>{label(node)}</span>
    ) : (
      <button type="button" onClick={() => onOpen(opens)} title="Show the group">
        {label(node)}
      </button>
    );
  switch (thing.type) {
    case 'call':
      return <CallLink {...params} id={thing.id} traceId={traces?.get(thing.id)} />;
    case 'build':
      return (
        <Link
          to="/p/$entity/$project/training/builds/$buildId"
          params={{ ...params, buildId: thing.id }}
          title={thing.id}
        >
          {label(node)}
        </Link>
      );
    case 'job':
      return (
        <Link
          to="/p/$entity/$project/training/jobs/$jobId"
          params={{ ...params, jobId: thing.id }}
          title={thing.id}
        >
          {label(node)}
        </Link>
      );
    case 'checkpoint':
      return thing.model === null ? (
        <span>{label(node)}</span>
      ) : (
        <Link
          to="/p/$entity/$project/training/models/$modelId/checkpoints/$step"
          params={{ ...params, modelId: thing.model_id, step: String(thing.step) }}
          title={label(node)}
        >
          {label(node)}
        </Link>
      );
    case 'feedback':
      return <code title={thing.id}>{shortId(thing.id)}</code>;
  }
}

const WORDS: Record<GraphNode['kind'], [one: string, more: string]> = {
  call: ['call', 'calls'],
  feedback: ['feedback', 'feedback'],
  build: ['build', 'builds'],
  job: ['job', 'jobs'],
  checkpoint: ['checkpoint', 'checkpoints'],
};

const amount = (n: number, kind: GraphNode['kind']): string =>
  `${count(n)} ${WORDS[kind][n === 1 ? 0 : 1]}`;

function label({ thing, count: n, kind }: GraphNode): string {
  if (!thing) return amount(n, kind);
  return thing.type === 'checkpoint'
    ? `${visible(thing.model ?? 'a deleted model')}, step ${thing.step}`
    : shortId(thing.id);
}

/** Number of targets in the text for screen readers. */
const NAMED = 3;

/** Lists the targets of a node in words, for people who cannot see the edges. */
function leadsToText({ nodes }: Graph, { to }: GraphNode): string {
  if (to.length === 0) return '';
  const named = to.slice(0, NAMED).map((id) => {
    const next = nodes.find((node) => node.id === id)!;
    return next.thing && next.kind !== 'checkpoint' ? `${next.kind} ${label(next)}` : label(next);
  });
  const others = to.length - named.length;
  return ` leads to ${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

function summary({ call, feedback, build, job, checkpoint, made }: Graph['totals']): ReactNode {
  const inputs = [
    call > 0 && amount(call, 'call'),
    feedback > 0 && amount(feedback, 'feedback'),
  ].filter((part) => part !== false);
  const parts = [
    inputs.length > 0 && inputs.join(' and '),
    build > 0 && amount(build, 'build'),
    job > 0 && amount(job, 'job'),
    checkpoint > 0 && amount(checkpoint, 'checkpoint'),
    made > 0 && `${amount(made, 'call')} of ${checkpoint === 1 ? 'it' : 'them'}`,
  ].filter((part) => part !== false);
  return parts.join(' → ');
}

/** Shows the id of a call, as a link when its trace is known. A deleted call has no known trace. */
export function CallLink({
  entity,
  project,
  id,
  traceId,
}: ProjectParams & {
  id: string;
  traceId: string | undefined;
}) {
  if (traceId === undefined) return <code title={id}>{shortId(id)}</code>;
  return (
    <Link
      to="/p/$entity/$project/traces/$traceId"
      params={{ entity, project, traceId }}
      search={{ call: id }}
      title={id}
    >
      {shortId(id)}
    </Link>
  );
}

import { getRouteApi, Link } from '@tanstack/react-router';
import {
  type CSSProperties,
  lazy,
  Suspense,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
} from 'react';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { count, duration } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Splitter, useSplit } from '../ui/Splitter.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import { useTitle } from '../ui/useTitle.ts';
import { Fact, TraceSpending } from './TraceSpending.tsx';
import { callKind } from './call-kind.ts';
import { CallPane } from './CallPane.tsx';
import styles from './trace.module.css';
import { criticalPath, visibleRows, type Tree } from './tree.ts';
import { MOST_CALLS, type TraceSpan, useTrace } from './queries.ts';
import { Waterfall } from './Waterfall.tsx';

const GraphView = lazy(() =>
  import('./GraphView.tsx').then((module) => ({ default: module.GraphView })),
);

const route = getRouteApi('/p/$entity/$project/traces/$traceId');

export function TracePage() {
  const { entity, project: name, traceId } = route.useParams();
  const project = `${entity}/${name}`;
  const { tree, error, isPending, refetch } = useTrace(project, traceId);
  if (!tree)
    return (
      <Page
        title="Trace"
        isFull
        error={error}
        onRetry={() => void refetch()}
        note={
          <Link to="/p/$entity/$project/traces" params={{ entity, project: name }}>
            All traces
          </Link>
        }
      >
        {isPending && <Skeleton rows={24} />}
      </Page>
    );
  if (tree.spans.length === 0)
    return (
      <EmptyState title="No such trace">
        <p>This project has no calls of the trace {traceId}. They may have been deleted.</p>
        <Link to="/p/$entity/$project/traces" params={{ entity, project: name }}>
          All traces
        </Link>
      </EmptyState>
    );
  return <TraceView key={traceId} project={project} tree={tree} />;
}

const FAILED = new Set(['error']);

function TraceView({ project, tree }: { project: string; tree: Tree<TraceSpan> }) {
  const { call, tab, with: other, view, said } = route.useSearch();
  const navigate = route.useNavigate();
  const [closed, close] = useState<ReadonlySet<string>>(new Set());
  const [sought, seek] = useState('');
  const [isCritical, showCritical] = useState(false);
  const split = useSplit('trace', 44);
  const search = useRef<HTMLInputElement>(null);
  const path = useMemo(() => (isCritical ? criticalPath(tree) : undefined), [tree, isCritical]);
  const errors = useMemo(() => tree.spans.filter(({ status }) => FAILED.has(status)), [tree]);
  const selected = chosenSpan(tree, call, errors);
  const found = useMemo(() => matches(tree, sought), [tree, sought]);
  const rows = useMemo(() => visibleRows(tree, closed), [tree, closed]);
  const hasGraph = useMemo(() => tree.spans.some((_, n) => callKind(tree, n)), [tree]);
  const isGraph = hasGraph && view === 'graph';
  const kept = { ...(view && { view }), ...(said !== undefined && { said }) };

  const pick = (id: string) => {
    close(opened(tree, closed, id));
    void navigate({
      search: { call: id, ...(tab !== undefined && tab !== 'compare' && { tab }), ...kept },
      replace: true,
    });
  };
  const step = (list: readonly { id: string }[], by: number) => {
    if (list.length === 0) return;
    const at = list.findIndex(({ id }) => id === selected.id);
    pick(list[(at + by + list.length) % list.length]!.id);
  };
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    close(next);
  };
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isMeantElsewhere(event)) return;
    const number = tree.numberById.get(selected.id)!;
    const at = rows.indexOf(number);
    const hasChildren = tree.behind[number]! > number + 1;
    const go = (row: number | undefined) =>
      row !== undefined && row >= 0 && pick(tree.spans[row]!.id);
    const actions: Record<string, () => unknown> = {
      j: () => go(rows[Math.min(rows.length - 1, at + 1)]),
      k: () => go(rows[Math.max(0, at - 1)]),
      h: () =>
        hasChildren && !closed.has(selected.id) ? toggle(selected.id) : go(tree.parent[number]),
      l: () => hasChildren && (closed.has(selected.id) ? toggle(selected.id) : go(number + 1)),
      e: () => step(errors, 1),
      '/': () => search.current?.focus(),
    };
    const key = ARROWS[event.key] ?? event.key;
    if (!Object.hasOwn(actions, key)) return;
    actions[key]!();
    event.preventDefault();
  });
  // on the document, because a page that was just opened has no focused element
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
  useTitle(visible(tree.spans[0]!.name));
  return (
    <div className={styles['page']}>
      <Header project={project} tree={tree} />
      <div className={styles['tools']}>
        <input
          ref={search}
          type="search"
          aria-label="Search calls by name"
          placeholder="Search by name  /"
          className={controls['input']}
          value={sought}
          onChange={({ target }) => seek(target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') step(found ?? [], event.shiftKey ? -1 : 1);
            if (event.key === 'Escape') seek('');
          }}
        />
        <span className={styles['found']} role="status">
          {found && `${count(found.length)} found`}
        </span>
        {hasGraph && (
          <ViewSwitch
            view={isGraph ? 'graph' : undefined}
            onSwitch={(next) =>
              void navigate({ search: (now) => ({ ...now, view: next }), replace: true })
            }
          />
        )}
        {!isGraph && (
          <Button look="quiet" aria-pressed={isCritical} onClick={() => showCritical(!isCritical)}>
            Critical path
          </Button>
        )}
        <Button
          look="quiet"
          className={errors.length > 0 ? controls['danger'] : ''}
          disabled={errors.length === 0}
          onClick={() => step(errors, 1)}
        >
          {errors.length === 0
            ? 'No errors'
            : `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}`}
        </Button>
      </div>
      <div className={styles['split']} style={{ '--call': `${split.share}%` } as CSSProperties}>
        {isGraph ? (
          <Suspense fallback={<Skeleton rows={12} />}>
            <GraphView tree={tree} selected={selected.id} marked={found} onPick={pick} />
          </Suspense>
        ) : (
          <Waterfall
            tree={tree}
            rows={rows}
            closed={closed}
            selected={selected.id}
            marked={found}
            path={path}
            onPick={pick}
            onToggle={toggle}
          />
        )}
        <Splitter label="Width of the call" {...split} />
        <CallPane
          key={selected.id}
          project={project}
          span={selected}
          tab={tab}
          other={other}
          said={said}
          onShow={(next) =>
            void navigate({ search: { call: selected.id, ...next, ...kept }, replace: true })
          }
        />
      </div>
    </div>
  );
}

function Header({ project, tree }: { project: string; tree: Tree<TraceSpan> }) {
  const { entity, project: name, traceId } = route.useParams();
  const first = tree.spans[0]!;
  const runs = tree.spans.some(({ end }) => end === null);
  const isKnown = tree.spans.some(({ latency }) => latency !== null);
  return (
    <header className={styles['header']}>
      <Link
        to="/p/$entity/$project/traces"
        params={{ entity, project: name }}
        className={styles['back']}
      >
        Traces
      </Link>
      <h1 title={first.opName}>{visible(first.name)}</h1>
      <Status status={first.status} />
      <dl className={styles['facts']}>
        <Fact name="Duration">
          {runs ? 'running' : isKnown ? duration(tree.to - tree.from) : 'unknown'}
        </Fact>
        <Fact name="Calls">
          {tree.spans.length.toLocaleString('en-US')}
          {tree.spans.length === MOST_CALLS && '+'}
        </Fact>
        <TraceSpending project={project} traceId={traceId} tree={tree} />
        <Fact name="Started">
          <Time at={first.startedAt} />
        </Fact>
        {first.threadId && (
          <Fact name="Thread">
            <Link
              to="/p/$entity/$project/threads/$threadId"
              params={{ entity, project: name, threadId: first.threadId }}
            >
              {first.threadId}
            </Link>
          </Fact>
        )}
      </dl>
    </header>
  );
}

type View = 'graph' | undefined;

const ViewSwitch = ({ view, onSwitch }: { view: View; onSwitch: (view: View) => void }) => (
  <div role="group" aria-label="View">
    <Button look="quiet" aria-pressed={view === undefined} onClick={() => onSwitch(undefined)}>
      Tree
    </Button>
    <Button look="quiet" aria-pressed={view === 'graph'} onClick={() => onSwitch('graph')}>
      Graph
    </Button>
  </div>
);

const ARROWS: Record<string, string> = {
  ArrowDown: 'j',
  ArrowUp: 'k',
  ArrowLeft: 'h',
  ArrowRight: 'l',
};

/**
 * True for keys that belong to another element: text boxes, dialogs, and elements that scroll or move with the arrows.
 */
function isMeantElsewhere({ target, key, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  if (metaKey || ctrlKey || altKey || document.querySelector('[role="dialog"]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input, textarea, select')) return true;
  return key in ARROWS && target.closest('[role="tablist"], [role="region"], pre, nav') !== null;
}

/** The call of the address, else the first failed one, else the root. */
const chosenSpan = (
  tree: Tree<TraceSpan>,
  call: string | undefined,
  errors: TraceSpan[],
): TraceSpan => tree.spans[tree.numberById.get(call ?? '') ?? -1] ?? errors[0] ?? tree.spans[0]!;

function matches(tree: Tree<TraceSpan>, sought: string): TraceSpan[] | undefined {
  const text = sought.trim().toLowerCase();
  if (text === '') return undefined;
  return tree.spans.filter(
    ({ name, opName }) => name.toLowerCase().includes(text) || opName.toLowerCase().includes(text),
  );
}

/** The closed calls without the ancestors of a call. */
function opened(
  tree: Tree<TraceSpan>,
  closed: ReadonlySet<string>,
  id: string,
): ReadonlySet<string> {
  const next = new Set(closed);
  for (let n = tree.parent[tree.numberById.get(id)!]!; n >= 0; n = tree.parent[n]!)
    next.delete(tree.spans[n]!.id);
  return next.size === closed.size ? closed : next;
}

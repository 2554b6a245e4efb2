import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { visible } from '../json/visible-text.ts';
import { callDuration, count, duration, money } from '../ui/format.ts';
import { KindIcon } from '../ui/KindIcon.tsx';
import { Status } from '../ui/Status.tsx';
import { callKind } from './call-kind.ts';
import styles from './trace.module.css';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './queries.ts';

const ROW_HEIGHT = 26;
const INDENT_PX = 14;
/** The largest indent, so that names of deep calls stay visible. */
const MOST_INDENT = '45%';
const MARKS = [0, 0.5, 1];

/** Shows the tree with the time of each call beside it. Only the rows in view are in the document. */
export function Waterfall({
  tree,
  rows,
  closed,
  selected,
  marked,
  path,
  onPick,
  onToggle,
}: {
  tree: Tree<TraceSpan>;
  rows: number[];
  closed: ReadonlySet<string>;
  selected: string;
  marked: readonly TraceSpan[] | undefined;
  path: ReadonlySet<string> | undefined;
  onPick: (id: string) => void;
  onToggle: (id: string) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 16,
  });
  const at = rows.indexOf(tree.numberById.get(selected)!);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at);
    // only when the selection changes: new rows must not scroll the page for a reader
  }, [selected]); // eslint-disable-line react-hooks/exhaustive-deps
  const found = useMemo(() => marked && new Set(marked.map(({ id }) => id)), [marked]);
  const whole = tree.to - tree.from;
  return (
    <div className={styles['waterfall']}>
      <div className={styles['scale']} aria-hidden="true">
        <div>
          {MARKS.map((part) => (
            <span key={part} style={{ left: `${part * 100}%` }}>
              {duration(whole * part)}
            </span>
          ))}
        </div>
      </div>
      <div
        ref={scroller}
        role="tree"
        aria-label="Calls"
        tabIndex={0}
        aria-activedescendant={at >= 0 ? `call-${rows[at]}` : undefined}
        className={styles['rows']}
      >
        <div role="presentation" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const number = rows[index]!;
            const span = tree.spans[number]!;
            const hasChildren = tree.behind[number]! > number + 1;
            const depth = tree.depth[number]!;
            const isOpen = !closed.has(span.id);
            const left = ((span.start - tree.from) / whole) * 100;
            const width = (((span.end ?? tree.to) - span.start) / whole) * 100;
            return (
              <div
                key={span.id}
                id={`call-${number}`}
                role="treeitem"
                aria-level={depth + 1}
                aria-selected={span.id === selected}
                aria-expanded={hasChildren ? isOpen : undefined}
                className={styles['row']}
                data-dim={(found && !found.has(span.id)) || undefined}
                data-path={path?.has(span.id) || undefined}
                data-status={span.status}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => onPick(span.id)}
              >
                <span
                  className={styles['name']}
                  style={{ paddingLeft: `min(${depth * INDENT_PX}px, ${MOST_INDENT})` }}
                >
                  <i
                    className={styles['twist']}
                    aria-hidden="true"
                    data-state={hasChildren ? (isOpen ? 'open' : 'closed') : undefined}
                    onClick={(event) => {
                      if (!hasChildren) return;
                      event.stopPropagation();
                      onToggle(span.id);
                    }}
                  />
                  <Status status={span.status} isShort />
                  <KindIcon kind={callKind(tree, number)} />
                  <span className={styles['label']} title={span.name}>
                    {visible(span.name)}
                  </span>
                </span>
                <span className={styles['track']}>
                  <i
                    className={styles['bar']}
                    style={{ left: `${left}%`, width: `max(2px, ${Math.min(width, 100 - left)}%)` }}
                  />
                  <span className={styles['took']} style={{ left: `calc(${left + width}% + 6px)` }}>
                    {callDuration({ status: span.status, latency_ms: span.latency }, 'running')}
                  </span>
                </span>
                <span className={styles['spent']}>
                  {span.tokens && `${count(span.tokens.input + span.tokens.output)} tokens`}
                  {span.cost !== null && <b>{money(span.cost)}</b>}
                </span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

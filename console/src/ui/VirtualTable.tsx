import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { scrollKeeper, scrollPosition } from './scroll-positions.ts';
import styles from './table.module.css';
import { useColumnWidths, WidthHandle } from './column-widths.tsx';

const ROW_HEIGHT = 32;

export interface Column<T> {
  name: string;
  title: ReactNode;
  /** A track of the CSS grid, such as `120px` or `minmax(160px, 1fr)`. */
  width: string;
  isNumber?: boolean;
  cell: (row: T) => ReactNode;
}

/**
 * Shows rows of one height. Only those in view are in the document. `j` and `k` or the arrow keys move the selection,
 * Enter opens it. `onEnd` is called when the last rows come into view.
 */
export function VirtualTable<T>({
  label,
  rows,
  rowKey,
  columns,
  onOpen,
  onEnd,
  onScrolledTo,
  onView,
  total,
}: {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  columns: Column<T>[];
  onOpen: (row: T) => void;
  onEnd?: () => void;
  /** Called with the scroll offset in pixels. */
  onScrolledTo?: (top: number) => void;
  /** Called with the first and the last row in view, including some rows around them. */
  onView?: (first: number, last: number) => void;
  /** The number of all rows, if it is known. */
  total?: number | undefined;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const selected = useRef(-1);
  const [place] = useState(() => ({ first: scrollPosition(label), keep: scrollKeeper(label) }));
  const virtual = useVirtualizer({
    initialOffset: place.first,
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    getItemKey: (index) => rowKey(rows[index]!),
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 20) onEnd?.();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    onView?.(first, last);
  }, [first, last, onView]);

  const select = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    selected.current = to;
    virtual.scrollToIndex(to);
    const link = () => scroller.current?.querySelector<HTMLElement>(`[data-index="${to}"] a`);
    // synchronously if the row is drawn: the next key may come before the next frame
    const here = link();
    if (here) here.focus();
    else requestAnimationFrame(() => link()?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const moves: Record<string, number> = {
      j: 1,
      ArrowDown: 1,
      k: -1,
      ArrowUp: -1,
      PageDown: 20,
      PageUp: -20,
    };
    const move = moves[event.key];
    if (move !== undefined) select(selected.current + move);
    else if (event.key === 'Home') select(0);
    else if (event.key === 'End') select(rows.length - 1);
    else return;
    event.preventDefault();
  };
  const { widths, set } = useColumnWidths(label);
  const widthOf = ({ name, width }: { name: string; width: string }) =>
    Object.hasOwn(widths, name) ? `${widths[name]}px` : width;
  const template = columns.map(widthOf).join(' ');
  const across = { gridTemplateColumns: template };
  const least = { minWidth: leastWidth(columns.map(widthOf)) };
  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={(total ?? rows.length) + 1}
      className={styles['table']}
    >
      <div role="rowgroup" className={styles['head']} style={least}>
        <div role="row" aria-rowindex={1} className={styles['row']} style={across}>
          {columns.map(({ name, title, width, isNumber }) => (
            <span
              role="columnheader"
              key={name}
              // excludes the label of the width handle
              aria-label={typeof title === 'string' ? title : undefined}
              className={isNumber ? styles['number'] : undefined}
            >
              {title}
              {pixels(width) > LEAST_TO_CHANGE && (
                <WidthHandle
                  title={name}
                  width={widths[name] ?? pixels(width)}
                  onWidth={(width) => set(name, width)}
                />
              )}
            </span>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        ref={scroller}
        tabIndex={0}
        className={styles['body']}
        style={least}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget: { scrollTop } }) => {
          place.keep(scrollTop);
          onScrolledTo?.(scrollTop);
        }}
      >
        <div role="presentation" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, start, key }) => {
            const row = rows[index]!;
            return (
              <div
                role="row"
                key={key}
                data-index={index}
                aria-rowindex={index + 2}
                className={styles['row']}
                style={{ ...across, transform: `translateY(${start}px)` }}
                onFocus={() => (selected.current = index)}
                onClick={(event) => {
                  const isElsewhere = event.metaKey || event.ctrlKey || event.shiftKey;
                  if (!isElsewhere && !event.defaultPrevented) onOpen(row);
                }}
              >
                {columns.map(({ name, isNumber, cell }) => (
                  <span role="cell" key={name} className={isNumber ? styles['number'] : undefined}>
                    {cell(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const GAP = 10;
const PADDING = 32;

/** The least width of all columns together. */
const leastWidth = (widths: readonly string[]): number =>
  widths.reduce((sum, width) => sum + pixels(width) + GAP, PADDING);

const pixels = (width: string): number => Number(/(\d+)px/.exec(width)?.[1] ?? 0);

/** Columns up to this width, such as checkboxes, cannot be resized. */
const LEAST_TO_CHANGE = 20;

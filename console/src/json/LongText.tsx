import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import styles from './json.module.css';
import { shortLines, visible } from './visible.ts';

const LINE_HEIGHT = 18;
/** Longer lines are broken: a browser cannot lay out a line of megabytes. */
const MOST_CHARACTERS = 160;

/** A text of any length, of which only the lines in sight are in the page. */
export function LongText({ text, label }: { text: string; label: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => shortLines(text, MOST_CHARACTERS), [text]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 30,
  });
  return (
    <div ref={scroller} className={styles['long']} tabIndex={0} role="region" aria-label={label}>
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start }) => (
          <div
            key={index}
            className={styles['line']}
            style={{ transform: `translateY(${start}px)` }}
          >
            {visible(lines[index]!)}
          </div>
        ))}
      </div>
    </div>
  );
}

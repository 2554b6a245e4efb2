import { useVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import styles from './json.module.css';
import { shortLines, visible } from './visible-text.ts';

const LINE_HEIGHT = 18;
/**
 * Longer lines are broken even in a wide window: they are hard to read, and a browser cannot lay out a line of
 * megabytes.
 */
const MOST_CHARACTERS = 160;
const LEAST_CHARACTERS = 20;
const PADDING = 24;

/** Shows a text of any length. Only the lines in view are in the page. */
export function LongText({ text, label }: { text: string; label: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(MOST_CHARACTERS);
  useLayoutEffect(() => {
    const box = scroller.current!;
    const measure = () => setWidth(characters(box, box.clientWidth));
    measure(); // before the text is drawn, so that the end does not move afterwards
    const sizes = new ResizeObserver(measure);
    sizes.observe(box);
    return () => sizes.disconnect();
  }, []);
  const lines = useMemo(() => shortLines(text, width), [text, width]);
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

/** How many characters of the fixed-width font fit into the width. */
function characters(element: Element, width: number): number {
  const pen = document.createElement('canvas').getContext('2d')!;
  pen.font = getComputedStyle(element).font;
  const fitting = Math.floor((width - PADDING) / pen.measureText('0').width);
  return Math.max(LEAST_CHARACTERS, Math.min(MOST_CHARACTERS, fitting));
}

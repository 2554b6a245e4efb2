import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import type { DiffRow } from './diff.ts';
import styles from './json.module.css';
import type { JsonIndex } from './json-index.ts';
import { visible } from './visible-text.ts';
import { type SideWords, wordDifferences } from './word-diff.ts';

const ROW_HEIGHT = 20;
/** Characters of a value that are shown; the document itself has all of it. */
const SHOWN = 4000;
const SHOWN_KEY = 60;

export function Differences({
  rows,
  before,
  after,
}: {
  rows: readonly DiffRow[];
  before: JsonIndex;
  after: JsonIndex;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
  });
  return (
    <div
      ref={scroller}
      className={styles['differences']}
      tabIndex={0}
      role="region"
      aria-label="Differences"
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const { depth, key, left, right, state } = rows[index]!;
          const isWithin = state === 'within';
          const [was, is] = isWithin
            ? ['', '']
            : [valueText(before, left), valueText(after, right)];
          return (
            <div
              key={index}
              ref={virtual.measureElement}
              data-index={index}
              className={styles['difference']}
              data-state={state}
              style={{ transform: `translateY(${start}px)` }}
            >
              <span style={{ paddingLeft: Math.min(depth, 20) * 12 }}>
                {visible(key?.slice(1, SHOWN_KEY + 1) ?? '–').replace(/"$/, '')}
              </span>
              <Compared isChanged={state === 'changed'} was={was} is={is} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function valueText(index: JsonIndex, node: number | undefined): string {
  if (node === undefined) return '';
  const { start, end } = index.nodes;
  return visible(index.text.slice(start[node], Math.min(end[node]!, start[node]! + SHOWN)));
}

/** Shows two values. In changed texts the words that differ are marked. */
function Compared({ isChanged, was, is }: { isChanged: boolean; was: string; is: string }) {
  const words = useMemo(
    () => (isChanged ? wordDifferences(was, is) : undefined),
    [isChanged, was, is],
  );
  return (
    <>
      <span>{words ? <MarkedWords words={words[0]} as="del" /> : was}</span>
      <span>{words ? <MarkedWords words={words[1]} as="ins" /> : is}</span>
    </>
  );
}

const MarkedWords = ({ words, as: Only }: { words: readonly SideWords[]; as: 'del' | 'ins' }) =>
  words.map(({ text, isOnlyHere }, n) => (isOnlyHere ? <Only key={n}>{text}</Only> : text));

import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { CopyButton } from '../ui/CopyButton.tsx';
import { bytes } from '../ui/format.ts';
import styles from './json.module.css';
import type { JsonIndex } from './json-index.ts';
import { MarkedText } from './MarkedText.tsx';
import { decodedToSay } from './said-text.ts';
import { isOpen, rowsBelow, toggledAbove } from './tree-rows.ts';
import { decodedStart, hasLines, visible } from './visible-text.ts';

export interface Section {
  title: string;
  root: number;
}

/** Values in which texts are marked. */
export interface MarkedValues {
  nodes: ReadonlySet<number>;
  texts: readonly string[];
  /** The one that is scrolled to. */
  first: number;
}

const NONE: readonly string[] = [];
const ROW_HEIGHT = 20;
/** Characters of a value that are shown at first. Each click shows as many more. */
const SHOWN_CHARACTERS = 1200;
const SHOWN_LINES = 16;
const MOST_IN_PLACE = 50_000;
const SHOWN_KEY = 80;
const MOST_COUNTED = 1000;
const MOST_INDENT = 40;

/**
 * Shows documents exactly as they were sent, except that texts get their line breaks. Only the rows in view are in the
 * page, and of long values only the beginning until they are opened.
 */
export function JsonView({
  index,
  sections,
  marked,
  onText,
}: {
  index: JsonIndex;
  sections: Section[];
  /** Takes effect when the view is made. */
  marked?: MarkedValues | undefined;
  /** Shows the whole of a string that is too long to be opened in place. */
  onText?: (node: number) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [toggled, setToggled] = useState<ReadonlySet<number>>(() =>
    toggledAbove(
      index,
      sections.map(({ root }) => root),
      marked?.nodes ?? [],
    ),
  );
  const [whole, openWhole] = useState<ReadonlySet<number>>(() => new Set(marked?.nodes));
  const rows = useMemo(
    () =>
      sections.flatMap((section) => [
        { section, node: undefined },
        ...rowsBelow(index, section.root, toggled).map((node) => ({ section, node })),
      ]),
    [index, sections, toggled],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (n) => (rows[n]!.node === undefined ? 34 : ROW_HEIGHT),
    getItemKey: (n) => rows[n]!.node ?? rows[n]!.section.title,
    overscan: 20,
  });
  const isScrolled = useRef(false);
  useEffect(() => {
    const row = marked ? rows.findIndex(({ node }) => node === marked.first) : -1;
    if (row < 0 || isScrolled.current) return;
    isScrolled.current = true;
    virtual.scrollToIndex(row, { align: 'center' });
  }, [marked, rows, virtual]);
  const toggle = (node: number) => {
    const next = new Set(toggled);
    if (!next.delete(node)) next.add(node);
    setToggled(next);
  };
  return (
    <div
      ref={scroller}
      className={styles['view']}
      tabIndex={0}
      role="region"
      aria-label="Documents"
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index: n, start, key }) => {
          const { section, node } = rows[n]!;
          const at = { transform: `translateY(${start}px)` };
          if (node === undefined)
            return (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={n}
                className={styles['title']}
                style={at}
              >
                <h2>{section.title}</h2>
                <span className={styles['size']}>{bytes(index.nodeLength(section.root))}</span>
                <CopyButton
                  look="quiet"
                  aria-label={`Copy ${section.title}`}
                  text={() => index.nodeText(section.root)}
                />
              </div>
            );
          const depth = index.nodes.depth[node]! - index.nodes.depth[section.root]!;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={n}
              className={styles['row']}
              style={{ ...at, paddingLeft: 12 + Math.min(depth, MOST_INDENT) * 14 }}
            >
              <Row
                index={index}
                node={node}
                isRoot={node === section.root}
                isOpen={isOpen(index, node, section.root, toggled)}
                onToggle={() => toggle(node)}
                isWhole={whole.has(node)}
                marked={marked?.nodes.has(node) ? marked.texts : NONE}
                onWhole={() => {
                  if (onText && index.nodeLength(node) > MOST_IN_PLACE) onText(node);
                  else openWhole(new Set(whole).add(node));
                }}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  index: JsonIndex;
  node: number;
  isRoot: boolean;
  isOpen: boolean;
  onToggle: () => void;
  isWhole: boolean;
  onWhole: () => void;
  /** Texts to mark in the name and the value. */
  marked: readonly string[];
}

function Row({ index, node, isRoot, isOpen: open, onToggle, isWhole, onWhole, marked }: RowProps) {
  const kind = index.kind(node);
  const key = isRoot ? undefined : index.nodeKey(node)?.slice(1, -1);
  const name = key === undefined ? undefined : shortened(key);
  const label = name !== undefined && (
    <span className={styles['key']}>
      <MarkedText text={name} marked={marked} />:{' '}
    </span>
  );
  if (index.hasChildren(node))
    return (
      <>
        <button
          type="button"
          className={styles['twist']}
          aria-expanded={open}
          aria-label={`${name ?? (isRoot ? 'all' : 'item')}, ${kind}`}
          data-open={open || undefined}
          onClick={onToggle}
        />
        {label}
        <span className={styles['count']}>{summary(index, node)}</span>
        <Copy index={index} node={node} />
      </>
    );
  return (
    <>
      <span className={styles['leaf']} />
      {label}
      <Leaf index={index} node={node} isWhole={isWhole} onWhole={onWhole} marked={marked} />
      <Copy index={index} node={node} />
    </>
  );
}

function Leaf({
  index,
  node,
  isWhole,
  onWhole,
  marked,
}: Pick<RowProps, 'index' | 'node' | 'isWhole' | 'onWhole' | 'marked'>) {
  const { text, isCut, isText } = shownValue(index, node, {
    isWhole,
    isDecoded: marked.length > 0,
  });
  return (
    <span
      className={`${styles['value']} ${styles[index.kind(node)]}`}
      data-text={isText || undefined}
    >
      <MarkedText text={visible(decodedToSay(text, marked))} marked={marked} />
      {isCut && '…'}
      {isCut && !isWhole && (
        <button type="button" className={styles['more']} onClick={onWhole}>
          show all {bytes(index.nodeLength(node))}
        </button>
      )}
    </span>
  );
}

/** The value as it was written. A text is decoded when it has several lines, or when a text is marked in it. */
function shownValue(
  index: JsonIndex,
  node: number,
  { isWhole, isDecoded }: { isWhole: boolean; isDecoded: boolean },
) {
  const from = index.nodes.start[node]!;
  const length = index.nodeLength(node);
  const most = isWhole ? MOST_IN_PLACE : SHOWN_CHARACTERS;
  const json = index.text.slice(from, from + Math.min(length, most));
  if (index.kind(node) !== 'string' || !(isDecoded || hasLines(json)))
    return { text: json, isCut: length > most, isText: false };
  const lines = decodedStart(length > most ? json : json.slice(0, -1)).split('\n');
  const kept = isWhole ? lines : lines.slice(0, SHOWN_LINES);
  return {
    text: kept.join('\n'),
    isCut: length > most || kept.length < lines.length,
    isText: true,
  };
}

const Copy = ({ index, node }: { index: JsonIndex; node: number }) => (
  <CopyButton
    look="quiet"
    tabIndex={-1}
    className={styles['copy']}
    aria-label="Copy this value"
    text={() => index.nodeText(node)}
  />
);

const shortened = (key: string) =>
  visible(key.slice(0, SHOWN_KEY)) + (key.length > SHOWN_KEY ? '…' : '');

function summary(index: JsonIndex, node: number): string {
  const n = index.countChildren(node, MOST_COUNTED + 1);
  const amount = n > MOST_COUNTED ? `${MOST_COUNTED}+` : n;
  return index.kind(node) === 'array' ? `[${amount}]` : `{${amount}}`;
}

import { type ReactNode, useMemo } from 'react';
import { foldCase } from '../../../src/platform/json/fold-case.ts';
import { visible } from './visible-text.ts';
import styles from './json.module.css';

const MOST_MARKS = 100;
const SYNTAX = /[$()*+.?[\\\]^{|}]/g;

/** A text as `visible` returns it, in which other texts are marked, in any case. */
export function MarkedText({ text, marked }: { text: string; marked: readonly string[] }) {
  const parts = useMemo(() => markedParts(text, marked), [text, marked]);
  return marked.length === 0 ? text : <span className={styles['marked']}>{parts}</span>;
}

function markedParts(text: string, marked: readonly string[]): ReactNode[] {
  if (marked.length === 0) return [];
  const sought = marked.map((one) => foldCase(visible(one)).replaceAll(SYNTAX, String.raw`\$&`));
  // of two texts at the same place, the longer one is marked
  const pattern = new RegExp(sought.toSorted((a, b) => b.length - a.length).join('|'), 'g');
  const parts: ReactNode[] = [];
  let end = 0;
  for (const { 0: found, index } of foldCase(text).matchAll(pattern)) {
    const from = end;
    end = index + found.length;
    parts.push(text.slice(from, index), <mark key={index}>{text.slice(index, end)}</mark>);
    if (parts.length === 2 * MOST_MARKS) break;
  }
  return [...parts, text.slice(end)];
}

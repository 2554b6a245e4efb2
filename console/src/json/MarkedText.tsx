import { foldCase } from '../../../src/platform/json/fold-case.ts';
import styles from './json.module.css';

const MOST_MARKS = 100;

/** A text in which another text is marked, in any case. */
export function MarkedText({ text, marked }: { text: string; marked: string | undefined }) {
  if (!marked) return text;
  const [folded, sought] = [foldCase(text), foldCase(marked)];
  const parts = [];
  let end = 0;
  for (let at = folded.indexOf(sought); at >= 0; at = folded.indexOf(sought, end)) {
    parts.push(text.slice(end, at), <mark key={at}>{text.slice(at, at + marked.length)}</mark>);
    end = at + marked.length;
    if (parts.length === 2 * MOST_MARKS) break;
  }
  return (
    <span className={styles['marked']}>
      {parts}
      {text.slice(end)}
    </span>
  );
}

import type { Schema } from '../api/client.ts';
import { MarkedText } from '../json/MarkedText.tsx';
import { visible } from '../json/visible-text.ts';
import styles from './controls.module.css';

/** Characters before the match that are shown in a narrow place. */
const SHORT_BEFORE = 16;

export type CallMatch = Schema<'CallMatchDto'>;

/** A match with the text around it. All searched texts are marked. */
export function MatchText({
  of,
  texts,
  isShort,
}: {
  of: CallMatch;
  texts: readonly string[];
  isShort?: boolean;
}) {
  const { path, before, match, after } = of;
  const characters = Array.from(before);
  const shown = isShort ? characters.slice(-SHORT_BEFORE) : characters;
  return (
    <span className={styles['match']} title={path}>
      {shown.length < characters.length && '…'}
      <MarkedText text={visible(`${shown.join('')}${match}${after}`)} marked={texts} />
    </span>
  );
}

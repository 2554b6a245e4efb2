import { visible } from '../json/visible-text.ts';
import styles from './controls.module.css';

/** Tags that are shown: clients may give a call any number of them. */
const MAX_TAGS = 20;

export const Tags = ({ of }: { of: Iterable<string> | undefined }) =>
  of &&
  [...of].slice(0, MAX_TAGS).map((tag) => (
    <span key={tag} className={styles['tag']} title={visible(tag)}>
      {visible(tag)}
    </span>
  ));

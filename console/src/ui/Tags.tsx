import { visible } from '../json/visible-text.ts';
import styles from './controls.module.css';

/** Others may give a call any number. */
const MAX_TAGS = 20;

/** Tags side by side, in the room of a cell. */
export const Tags = ({ of }: { of: Iterable<string> | undefined }) =>
  of &&
  [...of].slice(0, MAX_TAGS).map((tag) => (
    <span key={tag} className={styles['tag']} title={visible(tag)}>
      {visible(tag)}
    </span>
  ));

import { CopyButton } from './CopyButton.tsx';
import styles from './controls.module.css';

/** Shows text to copy into a terminal or a file. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className={styles['code']}>
      {/* it scrolls, so it must be reachable by keyboard */}
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

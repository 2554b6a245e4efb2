import { CopyButton } from './CopyButton.tsx';
import styles from './controls.module.css';

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

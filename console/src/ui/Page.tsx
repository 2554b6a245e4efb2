import type { ReactNode } from 'react';
import { ErrorRetry } from './ErrorRetry.tsx';
import { useTitle } from './useTitle.ts';
import styles from './page.module.css';

/** A page that scrolls below its title. An error is shown above the content. */
export function Page({
  title,
  note,
  actions,
  error,
  onRetry,
  isFull,
  children,
}: {
  title: string;
  note?: ReactNode;
  /** Shown at the right of the title. */
  actions?: ReactNode;
  error?: Error | null;
  onRetry?: () => void;
  /** Fills the window: the content scrolls instead of the page. */
  isFull?: boolean;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <div className={`${styles['page']} ${isFull ? styles['full'] : ''}`}>
      <header className={styles['header']}>
        <h1>{title}</h1>
        {note && <span className={styles['note']}>{note}</span>}
        <span className={styles['space']} />
        {actions}
      </header>
      {error && <ErrorRetry error={error} onRetry={onRetry} />}
      {children}
    </div>
  );
}

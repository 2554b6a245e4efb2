import type { ReactNode } from 'react';
import { Button } from './Button.tsx';
import { ErrorNote } from './Notice.tsx';
import styles from './page.module.css';

/** A page that scrolls below its title. An error stands above what there still is to show. */
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
  /** At the right of the title. */
  actions?: ReactNode;
  error?: Error | null;
  onRetry?: () => void;
  /** As high as the window: what is in it scrolls, and not the page. */
  isFull?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={`${styles['page']} ${isFull ? styles['full'] : ''}`}>
      <header className={styles['header']}>
        <h1>{title}</h1>
        {note && <span className={styles['note']}>{note}</span>}
        <span className={styles['space']} />
        {actions}
      </header>
      {error && (
        <div className={styles['fault']}>
          <ErrorNote error={error} />
          {onRetry && <Button onClick={onRetry}>Try again</Button>}
        </div>
      )}
      {children}
    </div>
  );
}

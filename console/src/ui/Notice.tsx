import type { ReactNode } from 'react';
import { Problem } from '../api/problem.ts';
import styles from './controls.module.css';

/** Shown instead of an empty list: the reason, and what to do. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles['notice']}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Shows an error with the id of the request in the service's log. */
export function ErrorNote({ error }: { error: unknown }) {
  return (
    <div role="alert" className={styles['error']}>
      <span>{error instanceof Error ? error.message : String(error)}</span>
      {error instanceof Problem && error.requestId && (
        <span className={styles['errorId']}>request {error.requestId}</span>
      )}
    </div>
  );
}

/** A placeholder as high as the rows that are loading. */
export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className={styles['skeleton']} role="progressbar" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <i key={i} />
      ))}
    </div>
  );
}

import { Button } from './Button.tsx';
import { ErrorNote } from './Notice.tsx';
import styles from './page.module.css';

export const ErrorRetry = ({
  error,
  onRetry,
}: {
  error: Error;
  onRetry?: (() => void) | undefined;
}) => (
  <div className={styles['fault']}>
    <ErrorNote error={error} />
    {onRetry && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

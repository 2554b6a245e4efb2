import { Button } from './Button.tsx';
import { ErrorNote } from './Notice.tsx';
import styles from './page.module.css';

/** Shows an error with a button to try again. */
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

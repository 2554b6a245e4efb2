import { type ErrorComponentProps } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { get } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { Page } from '../ui/Page.tsx';

/** True when the code of a page could not be loaded. */
const isUnloaded = (error: Error) =>
  /dynamically imported module|Importing a module script|error loading/i.test(error.message);

/** Shown instead of a page that failed. The navigation stays usable. */
export function PageFault({ error: thrown, reset }: ErrorComponentProps): ReactNode {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const [stillAway, tellAway] = useState<Error>();
  const isAway = isUnloaded(error);
  const again = async () => {
    if (!isAway) return reset();
    try {
      await get('/server_info');
      // browsers remember a failed import, so only a reload tries again
      location.reload();
    } catch (failure) {
      tellAway(failure as Error);
    }
  };
  const told = isAway
    ? new Problem(
        0,
        'unreachable',
        'The page cannot be loaded, because the service cannot be reached.',
      )
    : new Error(`The page failed: ${error.message}`);
  return (
    <Page title="This page cannot be shown">
      <ErrorRetry error={stillAway ?? told} onRetry={() => void again()} />
    </Page>
  );
}

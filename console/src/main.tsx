import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionEnds } from './api/client.ts';
import { Problem } from './api/problem.ts';
import { forgetSession, sessionQuery, signIn } from './api/session.ts';
import { makeRouter } from './router.tsx';
import { applyTheme } from './shell/theme.ts';
import './ui/tokens.css';

applyTheme();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // a refused request is not sent again; only a service that is away or busy gets a retry
      retry: (failures, error) =>
        failures < 2 && error instanceof Problem && (error.status === 503 || error.status === 0),
    },
  },
});

whenSessionEnds(() => {
  if (client.getQueryData(sessionQuery.queryKey)?.me) forgetSession(client);
});

/** Signs in with the code of a login link. The code works once, so it is removed from the address first. */
async function useLoginLink(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  await signIn('Code', code).catch((error: unknown) => {
    sessionStorage.setItem('skein.refused', (error as Error).message);
  });
}

/** Keeps the reason of a failed sign-in for the page that shows it. */
async function useFailedSignIn(): Promise<void> {
  if (!location.hash.includes('sign-in-failed')) return;
  const { noteFailedSignIn } = await import('./shell/failed-sign-in.ts');
  noteFailedSignIn();
}

void useFailedSignIn()
  .catch(() => {}) // without its message, the sign-in is shown all the same
  .then(useLoginLink)
  .then(() =>
    createRoot(document.getElementById('root')!).render(
      <StrictMode>
        <CSPProvider disableStyleElements>
          <QueryClientProvider client={client}>
            <RouterProvider router={makeRouter()} />
          </QueryClientProvider>
        </CSPProvider>
      </StrictMode>,
    ),
  );

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
      // a refusal stays one; only a service that is away or busy is asked again
      retry: (failures, error) =>
        failures < 2 && error instanceof Problem && (error.status === 503 || error.status === 0),
    },
  },
});

whenSessionEnds(() => {
  if (client.getQueryData(sessionQuery.queryKey)?.me) forgetSession(client);
});

/** The code of a login link works once, so it leaves the address before anything else can go wrong. */
async function useLoginLink(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  await signIn('Code', code).catch((error: unknown) => {
    sessionStorage.setItem('skein.refused', (error as Error).message);
  });
}

void useLoginLink().then(() =>
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

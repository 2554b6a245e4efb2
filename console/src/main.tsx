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

/** Messages for failed sign-ins, keyed by the word that the service puts into the address. */
const FAILURES: Record<string, string> = {
  expired: 'The sign-in took too long, or was started in another window. Start it again.',
  denied: 'The sign-in was cancelled.',
  provider_unavailable: 'The sign-in provider cannot be reached now. Try it again in a minute.',
  not_valid: 'The answer of the sign-in provider is not valid, so you are not signed in.',
  domain: 'Your e-mail address is not verified, or its domain may not sign in here.',
  deactivated: 'You may not sign in any more. An admin can change that.',
  no_role: 'You have no role here yet. Ask an admin of your project to add you.',
  too_many: 'Too many people are signing in from your address. Try it again in a minute.',
  unavailable: 'The service cannot sign you in now. Try it again in a minute.',
};

/** Limits the reference that is shown: anybody can make a link to this page with any text. */
const REFERENCE = /^[\w.:/+=@-]{1,128}$/;

function noteFailedSignIn(): void {
  const told = new URLSearchParams(location.hash.slice(1));
  const reason = told.get('sign-in-failed');
  const reference = told.get('reference') ?? '';
  if (reason === null) return;
  history.replaceState(null, '', location.pathname + location.search);
  if (!REFERENCE.test(reference)) return;
  const what = (Object.hasOwn(FAILURES, reason) && FAILURES[reason]) || FAILURES['unavailable']!;
  sessionStorage.setItem('skein.refused', `${what} Reference: ${reference}`);
}

noteFailedSignIn();
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

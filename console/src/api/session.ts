import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import { get, type Schema, send } from './client.ts';
import { Problem } from './problem.ts';
import { setDialect } from './wire.ts';

export type Me = Schema<'MeDto'>;

export interface Session {
  /** Null when nobody is signed in. */
  me: Me | null;
  version: string;
  /** Providers that people sign in with. */
  signIn: Schema<'ServerInfoDto'>['sign_in'];
  /** Whether keys are taken too. */
  keySignIn: boolean;
}

/** Who is signed in, and to what. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Infinity,
  queryFn: async (): Promise<Session> => {
    const [me, info] = await Promise.all([
      get('/me').catch((error: unknown) => {
        if (error instanceof Problem && error.status === 401) return null;
        throw error;
      }),
      get('/server_info'),
    ]);
    setDialect(info.wire_dialect);
    const { sign_in: signIn, key_sign_in: keySignIn } = info;
    return { me, version: info.trace_server_version, signIn, keySignIn };
  },
});

/** The one who is signed in; for pages, which nobody else sees. */
export const useMe = (): Me => useSuspenseQuery(sessionQuery).data.me!;

/** Who people sign in with; for pages, as `useMe`. */
export const useProviders = (): Session['signIn'] => useSuspenseQuery(sessionQuery).data.signIn;

const RANK: Record<Me['role'], number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/** Whether a button of the operation is shown, in a project or anywhere: nobody is offered what would be refused. */
export const mayActAs = (me: Me, role: Me['role'], project?: string): boolean =>
  me.grants.some(
    (grant) => RANK[grant.role] >= RANK[role] && (project === undefined || reaches(grant, project)),
  );

export const reaches = ({ scopes }: Pick<Me, 'scopes'>, project: string): boolean =>
  scopes.some(
    (scope) =>
      scope === '*' ||
      scope === project ||
      (scope.endsWith('/*') && project.startsWith(scope.slice(0, -1))),
  );

/** Begins a session with a key, or with the code of a login link. */
export const signIn = (scheme: 'Bearer' | 'Code', secret: string): Promise<unknown> =>
  send('POST', '/console/login', { headers: { authorization: `${scheme} ${secret}` } });

export async function signOut(client: QueryClient): Promise<void> {
  const response = await send('POST', '/console/logout');
  const { end_session_url: url } = (await response.json()) as { end_session_url?: string };
  // the provider ends its session too, and sends the browser back
  if (url === undefined) forgetSession(client);
  else location.assign(url);
}

/** Nothing of what one person saw stays for the next. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, (session) => session && { ...session, me: null });
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
}

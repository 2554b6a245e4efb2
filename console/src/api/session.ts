import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import { get, type Schema, send } from './client.ts';
import { keys } from './keys.ts';
import { Problem } from './problem.ts';
import { setDialect } from './wire.ts';

export type Me = Schema<'MeDto'>;

export interface Session {
  /** Null when no user is signed in. */
  me: Me | null;
  version: string;
  signIn: Schema<'ServerInfoDto'>['sign_in'];
  keySignIn: boolean;
}

export const sessionQuery = queryOptions({
  queryKey: keys.session(),
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

/** The signed-in user. Pages may call it: they are shown to signed-in users only. */
export const useMe = (): Me => useSuspenseQuery(sessionQuery).data.me!;

/** The identity providers. Pages may call it, like `useMe`. */
export const useProviders = (): Session['signIn'] => useSuspenseQuery(sessionQuery).data.signIn;

const RANK: Record<Me['role'], number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/** True when the user has the role in the project, or in any project. Buttons that would be refused are not shown. */
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

/** Begins a session with a key or with the code of a login link. */
export const signIn = (scheme: 'Bearer' | 'Code', secret: string): Promise<unknown> =>
  send('POST', '/console/login', { headers: { authorization: `${scheme} ${secret}` } });

export async function signOut(client: QueryClient): Promise<void> {
  const response = await send('POST', '/console/logout');
  const { end_session_url: url } = (await response.json()) as { end_session_url?: string };
  // the provider ends its own session and redirects back
  if (url === undefined) forgetSession(client);
  else location.assign(url);
}

/** Removes all data of the session, so that the next user sees none of it. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, (session) => session && { ...session, me: null });
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
}

import { queryOptions, useSuspenseQuery, type QueryClient } from '@tanstack/react-query';
import { get, type Schema, send } from './client.ts';
import { Problem } from './problem.ts';
import { setDialect } from './wire.ts';

export type Me = Schema<'MeDto'>;

export interface Session {
  /** Null when nobody is signed in. */
  me: Me | null;
  version: string;
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
    return { me, version: info.trace_server_version };
  },
});

/** The one who is signed in; for pages, which nobody else sees. */
export const useMe = (): Me => useSuspenseQuery(sessionQuery).data.me!;

const RANK: Record<Me['role'], number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/** Whether a button of the operation is shown: nobody is offered what would be refused. */
export const mayActAs = (me: Me, role: Me['role']): boolean => RANK[me.role] >= RANK[role];

export const reaches = (me: Me, project: string): boolean =>
  me.scopes.some(
    (scope) =>
      scope === '*' ||
      scope === project ||
      (scope.endsWith('/*') && project.startsWith(scope.slice(0, -1))),
  );

/** Begins a session with a key, or with the code of a login link. */
export const signIn = (scheme: 'Bearer' | 'Code', secret: string): Promise<unknown> =>
  send('POST', '/console/login', { headers: { authorization: `${scheme} ${secret}` } });

export async function signOut(client: QueryClient): Promise<void> {
  await send('POST', '/console/logout');
  forgetSession(client);
}

/** Nothing of what one person saw stays for the next. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, (session) => session && { ...session, me: null });
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
}

import { infiniteQueryOptions } from '@tanstack/react-query';
import { type RequestBody, post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import type { AuditEvent } from './csv.ts';
import type { AuditSearch } from './search.ts';

const PAGE = 200;
const MOST_IN_FILE = 50_000;

const request = ({ user, action, project }: AuditSearch): RequestBody<'/audit/query'> =>
  ({
    ...(project && { project_id: project }),
    filter: { ...(user && { users: [user] }), ...(action && { actions: [action] }) },
  }) as RequestBody<'/audit/query'>;

/** Reads the events of a search in pages, newest first. */
export const eventsQuery = (search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: keys.audit(search),
    initialPageParam: 0,
    queryFn: async ({ signal, pageParam: offset }) =>
      (await post('/audit/query', { ...request(search), limit: PAGE, offset }, { signal })).events,
    getNextPageParam: (last: AuditEvent[], all) =>
      last.length === PAGE ? all.length * PAGE : undefined,
    retry: false,
  });

export const readAllEvents = async (search: AuditSearch): Promise<AuditEvent[]> =>
  (await post('/audit/query', { ...request(search), limit: MOST_IN_FILE })).events;

import { queryOptions } from '@tanstack/react-query';
import { post } from './client.ts';

/** As many as the service answers at once. */
export const MOST_PROJECTS = 1000;

/** What the key reaches, the latest activity first. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async ({ signal }) =>
    (await post('/projects/query', { limit: MOST_PROJECTS }, { signal })).projects,
});

import { queryOptions } from '@tanstack/react-query';
import { post } from './client.ts';
import { keys } from './keys.ts';

/** The most projects that the service returns at once. */
export const MOST_PROJECTS = 1000;

/** Reads the projects that the key reaches, latest activity first. */
export const projectsQuery = queryOptions({
  queryKey: keys.projects(),
  queryFn: async ({ signal }) =>
    (await post('/projects/query', { limit: MOST_PROJECTS }, { signal })).projects,
});

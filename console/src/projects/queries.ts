import { queryOptions } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';

/** Reads what entities and projects used today, those with the most requests first. */
export const usesQuery = queryOptions({
  queryKey: keys.uses(),
  queryFn: async ({ signal }) => (await post('/quotas/query', {}, { signal })).scopes,
});

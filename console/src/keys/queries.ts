import { queryOptions } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';

export const keysQuery = queryOptions({
  queryKey: keys.apiKeys(),
  queryFn: async ({ signal }) => (await post('/keys/list', {}, { signal })).keys,
});

export const ownKeysQuery = queryOptions({
  queryKey: keys.apiKeys('own'),
  queryFn: async ({ signal }) => (await post('/keys/list', { own: true }, { signal })).keys,
});

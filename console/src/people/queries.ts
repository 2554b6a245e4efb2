import { queryOptions } from '@tanstack/react-query';
import { post, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';

export type Member = Schema<'MemberDto'>;

export const membersQuery = (scope: string | undefined) =>
  queryOptions({
    queryKey: keys.members(scope),
    queryFn: ({ signal }) => post('/members/list', scope ? { scope } : {}, { signal }),
  });

export const usersQuery = queryOptions({
  queryKey: keys.users(),
  queryFn: ({ signal }) => post('/users/list', {}, { signal }),
});

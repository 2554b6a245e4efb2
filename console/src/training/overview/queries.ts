import { queryOptions } from '@tanstack/react-query';
import { post } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';

/** The scope of a purge to check: a user or some calls. Empty lists what is already tainted. */
export interface PurgeScope {
  user_id?: string;
  call_ids?: string[];
}

export const taintedQuery = (project_id: string, reached: PurgeScope) =>
  queryOptions({
    queryKey: keys.tainted(project_id, reached),
    queryFn: ({ signal }) => post('/lineage/tainted', { project_id, ...reached }, { signal }),
  });

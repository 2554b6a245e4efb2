import { queryOptions } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { readCall } from '../json/call-document.ts';

const MOST_OFFERED = 200;

/** Reads the newest version of each dataset. */
export const datasetsQuery = (project: string) =>
  queryOptions({
    queryKey: keys.datasets(project),
    queryFn: async ({ signal }) => {
      const filter = { latest_only: true, base_object_classes: ['Dataset'] };
      const request = {
        project_id: project,
        filter,
        metadata_only: true,
        limit: MOST_OFFERED,
      };
      return (await post('/objs/query', request, { signal })).objs;
    },
  });

export const sampleQuery = (project: string, callId: string) =>
  queryOptions({
    queryKey: keys.sampleCall(project, callId),
    queryFn: ({ signal }) => readCall(project, callId, signal),
    staleTime: 60_000,
    structuralSharing: false,
  });

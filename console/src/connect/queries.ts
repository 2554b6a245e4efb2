import { queryOptions } from '@tanstack/react-query';
import type { CallRow } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import { keys } from '../api/keys.ts';

/** Reads the newest root call of a project; null without one. */
export const newestQuery = (project: string) =>
  queryOptions({
    queryKey: keys.firstCall(project),
    queryFn: ({ signal }) => newest(project, signal),
  });

async function newest(project_id: string, signal: AbortSignal): Promise<CallRow | null> {
  const [call] = await allLines(
    '/calls/stream_query',
    {
      project_id,
      filter: { trace_roots_only: true },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: 1,
      columns: ['summary', 'ended_at'],
    },
    signal,
  );
  return call ?? null;
}

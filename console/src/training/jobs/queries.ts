import { queryOptions } from '@tanstack/react-query';
import { get, type Schema } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { type Job, readPages } from '../queries.ts';

export type JobEvent = Schema<'TrainingJobEventDto'>;

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: keys.job(id),
    queryFn: ({ signal }) =>
      get('/v1/preview/training-jobs/{id}', { to: `/v1/preview/training-jobs/${id}`, signal }),
  });

/**
 * Reads all events of a job, oldest first. Later reads add only new events. Each attempt begins with an empty list,
 * since the reports of a repeated attempt no longer count.
 */
export const eventsQuery = (job: Job | undefined) =>
  queryOptions({
    queryKey: keys.jobEvents({
      id: job?.id,
      attempt: job?.attempt,
      isQueued: job?.status === 'queued',
    }),
    enabled: job !== undefined,
    structuralSharing: false,
    queryFn: async ({ signal, client, queryKey }) => {
      const before = client.getQueryData<JobEvent[]>(queryKey) ?? [];
      const added: JobEvent[] = [];
      const asked = { id: job!.id, after: before.at(-1)?.id };
      for await (const page of readPages('/v1/preview/training-jobs/{id}/events', asked, signal))
        added.push(...page);
      return added.length > 0 ? [...before, ...added] : before;
    },
  });

export const hasEnded = ({ status }: Job): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

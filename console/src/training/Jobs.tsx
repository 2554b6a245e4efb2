import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useLive } from '../api/live.ts';
import { visible } from '../json/visible-text.ts';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { count, duration } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import { type Column, VirtualTable } from '../ui/VirtualTable.tsx';
import { type Job, jobsQuery, type Model } from './queries.ts';

export function Jobs({
  entity,
  project,
  models,
  modelId,
}: {
  entity: string;
  project: string;
  models: readonly Model[];
  modelId?: string;
}) {
  const navigate = useNavigate();
  const jobs = useInfiniteQuery(jobsQuery(entity, project, modelId));
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = jobs;
  useLive(`${entity}/${project}`, ['jobs'], () => {
    // a long list does not move while it is read
    if (data?.pages.length === 1) return refetch();
  });
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={12} />;
  const rows = data.pages.flatMap((page) => page.data);
  if (rows.length === 0)
    return (
      <EmptyState title="No training jobs yet">
        <p>
          Create a job from a build, or send trajectory groups to{' '}
          <code>/v1/preview/training-jobs</code>. A trainer claims the job and reports its progress.
        </p>
      </EmptyState>
    );
  return (
    <VirtualTable
      label="Training jobs"
      rows={rows}
      rowKey={({ id }) => id}
      columns={jobColumns(entity, project, models)}
      onOpen={({ id: jobId }) =>
        void navigate({
          to: '/p/$entity/$project/training/jobs/$jobId',
          params: { entity, project, jobId },
        })
      }
      onEnd={() => {
        if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
      }}
    />
  );
}

const jobColumns = (entity: string, project: string, models: readonly Model[]): Column<Job>[] => [
  {
    name: 'status',
    title: 'Status',
    width: '110px',
    cell: ({ status }) => <Status status={status} />,
  },
  {
    name: 'job',
    title: 'Job',
    width: '112px',
    cell: ({ id }) => (
      <Link
        to="/p/$entity/$project/training/jobs/$jobId"
        params={{ entity, project, jobId: id }}
        title={id}
      >
        <code>{shortId(id)}</code>
      </Link>
    ),
  },
  {
    name: 'model',
    title: 'Model',
    width: 'minmax(120px, 1fr)',
    cell: ({ model_id }) => {
      const name = models.find(({ id }) => id === model_id)?.name ?? 'deleted';
      return <span title={name}>{name}</span>;
    },
  },
  {
    name: 'groups',
    title: 'Groups',
    width: '72px',
    isNumber: true,
    cell: ({ num_groups }) => count(num_groups),
  },
  {
    name: 'trajectories',
    title: 'Trajectories',
    width: '96px',
    isNumber: true,
    cell: ({ num_trajectories }) => count(num_trajectories),
  },
  {
    name: 'step',
    title: 'Made step',
    width: '84px',
    isNumber: true,
    cell: ({ checkpoint, made_step, no_step_reason }) =>
      made_step === false ? (
        <span title={visible(no_step_reason ?? '')}>none</span>
      ) : (
        (checkpoint?.step ?? '–')
      ),
  },
  {
    name: 'took',
    title: 'Duration',
    width: '90px',
    isNumber: true,
    cell: (job) => duration(jobDuration(job)),
  },
  {
    name: 'created',
    title: 'Created',
    width: '124px',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/**
 * The end of a UUID. Its beginning is a time, so that only the end distinguishes ids made together. Other ids stay
 * whole.
 */
export const shortId = (id: string) => (UUID.test(id) ? id.slice(-12) : id);

/** Milliseconds from the start of training to its end; null before the end. */
export const jobDuration = ({ started_at, finished_at }: Job): number | null =>
  started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;

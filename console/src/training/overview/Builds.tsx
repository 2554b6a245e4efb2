import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useLive } from '../../api/live.ts';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { count, number } from '../../ui/format.ts';
import { EmptyState, Skeleton } from '../../ui/Notice.tsx';
import { Time } from '../../ui/Time.tsx';
import { type Column, VirtualTable } from '../../ui/VirtualTable.tsx';
import { BeginRecipeLink } from '../BeginRecipeLink.tsx';
import { type Build, buildsQuery } from '../queries.ts';
import styles from '../training.module.css';

export function Builds({ entity, project }: { entity: string; project: string }) {
  const navigate = useNavigate();
  const builds = useInfiniteQuery(buildsQuery(`${entity}/${project}`));
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = builds;
  useLive(`${entity}/${project}`, ['builds', 'jobs'], () => {
    if (data?.pages.length === 1) return refetch();
  });
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={12} />;
  const rows = data.pages.flat();
  if (rows.length === 0)
    return (
      <EmptyState title="No builds yet">
        <p>
          A recipe turns recorded calls and the feedback on them into trajectory groups. It is an
          object of the class <code>Recipe</code>, and the editor shows what it would make.
        </p>
        <BeginRecipeLink entity={entity} project={project} />
      </EmptyState>
    );
  return (
    <VirtualTable
      label="Builds"
      rows={rows}
      rowKey={({ id }) => id}
      columns={buildColumns(entity, project)}
      onOpen={({ id: buildId }) =>
        void navigate({
          to: '/p/$entity/$project/training/builds/$buildId',
          params: { entity, project, buildId },
        })
      }
      onEnd={() => {
        if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
      }}
    />
  );
}

const buildColumns = (entity: string, project: string): Column<Build>[] => [
  {
    name: 'recipe',
    title: 'Recipe',
    width: 'minmax(140px, 1fr)',
    cell: ({ id, recipe_name }) => (
      <Link
        to="/p/$entity/$project/training/builds/$buildId"
        params={{ entity, project, buildId: id }}
        title={recipe_name}
      >
        {recipe_name}
      </Link>
    ),
  },
  {
    name: 'groups',
    title: 'Groups',
    width: '72px',
    isNumber: true,
    cell: ({ counts }) => count(counts['groups']),
  },
  {
    name: 'trajectories',
    title: 'Trajectories',
    width: '96px',
    isNumber: true,
    cell: ({ counts }) => count(counts['trajectories']),
  },
  {
    name: 'reward',
    title: 'Mean reward',
    width: '96px',
    isNumber: true,
    cell: ({ facts }) => number(facts.rewards.mean),
  },
  {
    name: 'lints',
    title: 'Lints',
    width: '60px',
    isNumber: true,
    cell: ({ lints }) => (
      <span title={lints.map(({ code, count: times }) => `${code} ${times}`).join('\n')}>
        {lints.length}
      </span>
    ),
  },
  {
    name: 'jobs',
    title: 'Jobs',
    width: '60px',
    isNumber: true,
    cell: ({ jobs }) => jobs.length,
  },
  {
    name: 'erased',
    title: <span className="visually-hidden">Erased</span>,
    width: '64px',
    cell: ({ erased_at }) => erased_at && <span className={styles['bad']}>erased</span>,
  },
  {
    name: 'created',
    title: 'Created',
    width: '124px',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

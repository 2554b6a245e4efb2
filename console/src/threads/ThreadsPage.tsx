import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { allLines } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { noteProject } from '../api/recent.ts';
import { buttonClass } from '../ui/Button.tsx';
import { count, duration } from '../ui/format.ts';
import { Empty, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Time } from '../ui/Time.tsx';
import { type Column, VirtualTable } from '../ui/VirtualTable.tsx';
import type { Sort } from './search.ts';
import styles from './threads.module.css';

const route = getRouteApi('/p/$entity/$project/threads');
const PAGE = 200;

interface Thread {
  thread_id: string;
  turn_count: number;
  start_time: string;
  last_updated: string;
  p50_turn_duration_ms: number | null;
  p99_turn_duration_ms: number | null;
}

/** The conversations of a project with their exact statistics, in any order. */
export function ThreadsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const { sort = 'last_updated', up } = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const { data, error, isPending, isFetchingNextPage, hasNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: ['threads', project, sort, up],
      initialPageParam: undefined as (string | number | null)[] | undefined,
      queryFn: ({ pageParam, signal }) =>
        allLines<Thread>(
          '/threads/stream_query',
          {
            project_id: project,
            sort_by: [{ field: sort, direction: up ? 'asc' : 'desc' }],
            limit: PAGE,
            ...(pageParam && { after: pageParam }),
          },
          signal,
        ),
      getNextPageParam: (page) => {
        const last = page.length < PAGE ? undefined : page.at(-1)!;
        if (!last) return undefined;
        return sort === 'thread_id' ? [last.thread_id] : [last[sort], last.thread_id];
      },
    });
  useLive(project, ['calls'], () => {
    // of a long list that is being read, nothing moves
    if (data?.pages.length === 1) return refetch();
  });
  const rows = useMemo(() => data?.pages.flat() ?? [], [data]);
  const by = (field: Sort, title: string) => (
    <button
      type="button"
      className={styles['sort']}
      aria-label={`Sort by ${title}`}
      data-sorted={field === sort ? (up ? 'up' : 'down') : undefined}
      onClick={() =>
        void navigate({
          search: { sort: field, ...(field === sort && !up && { up: true as const }) },
        })
      }
    >
      {title}
    </button>
  );
  const columns: Column<Thread>[] = [
    {
      name: 'thread',
      title: by('thread_id', 'Thread'),
      width: 'minmax(160px, 1fr)',
      cell: (row) => (
        <Link
          to="/p/$entity/$project/threads/$threadId"
          params={{ entity, project: name, threadId: row.thread_id }}
          title={row.thread_id}
        >
          {row.thread_id}
        </Link>
      ),
    },
    {
      name: 'turns',
      title: by('turn_count', 'Turns'),
      width: '80px',
      isNumber: true,
      cell: (row) => count(row.turn_count),
    },
    {
      name: 'p50',
      title: by('p50_turn_duration_ms', 'p50'),
      width: '90px',
      isNumber: true,
      cell: (row) => duration(row.p50_turn_duration_ms),
    },
    {
      name: 'p99',
      title: by('p99_turn_duration_ms', 'p99'),
      width: '90px',
      isNumber: true,
      cell: (row) => duration(row.p99_turn_duration_ms),
    },
    {
      name: 'start',
      title: by('start_time', 'Began'),
      width: '130px',
      cell: (row) => <Time at={row.start_time} />,
    },
    {
      name: 'last',
      title: by('last_updated', 'Last turn'),
      width: '130px',
      cell: (row) => <Time at={row.last_updated} />,
    },
  ];
  return (
    <Page title="Threads" isFull error={error} onRetry={() => void refetch()}>
      {isPending && <Skeleton rows={24} />}
      {data && rows.length === 0 && (
        <Empty title="No threads yet">
          <p>
            A call with a <code>thread_id</code> whose <code>turn_id</code> is its own id is a turn
            of that thread.
          </p>
          <Link to="/connect" search={{ project }} className={buttonClass('primary')}>
            Connect an application
          </Link>
        </Empty>
      )}
      {rows.length > 0 && (
        <VirtualTable
          label="Threads"
          rows={rows}
          keyOf={({ thread_id }) => thread_id}
          columns={columns}
          onOpen={({ thread_id: threadId }) =>
            void navigate({
              to: '/p/$entity/$project/threads/$threadId',
              params: { entity, project: name, threadId },
            })
          }
          onEnd={() => {
            if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
          }}
        />
      )}
    </Page>
  );
}

import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { keys } from '../api/keys.ts';
import { useLiveList } from '../api/live-list.ts';
import { noteProject } from '../api/recent-projects.ts';
import { withSource } from '../api/sources.ts';
import { visible } from '../json/visible-text.ts';
import { Button, buttonClass } from '../ui/Button.tsx';
import { count, duration } from '../ui/format.ts';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { SearchBox } from '../ui/SearchBox.tsx';
import { SourceSelect } from '../ui/SourceSelect.tsx';
import { Time } from '../ui/Time.tsx';
import { scrollPosition } from '../ui/scroll-positions.ts';
import { type Column, VirtualTable } from '../ui/VirtualTable.tsx';
import { readThreads, type Thread, threadsFilter, THREADS } from './queries.ts';
import type { Sort } from './search.ts';
import styles from './threads.module.css';

const route = getRouteApi('/p/$entity/$project/threads');

export function ThreadsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const { q, sort = 'last_updated', up, source = 'production' } = search;
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const { pages, rows, hasTicked, isLater, goOn, toTop, table } = useLiveList<Thread>({
    queryKey: keys.threads(project, { q, sort, up, source }),
    project,
    isLive: true,
    isScrolled: scrollPosition('Threads') > 0,
    pageSize: THREADS,
    read: (behind, signal) => readThreads({ project, q, sort, up, source, behind }, signal),
  });
  const { data, error, isPending, refetch } = pages;
  const by = (field: Sort, title: string) => (
    <button
      type="button"
      className={styles['sort']}
      aria-label={`Sort by ${title}`}
      data-sorted={field === sort ? (up ? 'up' : 'down') : undefined}
      onClick={() =>
        void navigate({
          search: {
            ...(q !== undefined && { q }),
            ...(search.source && { source }),
            sort: field,
            ...(field === sort && !up && { up: true as const }),
          },
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
          {visible(row.thread_id)}
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
      title: by('start_time', 'Started'),
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
    <Page
      title="Threads"
      isFull
      error={error}
      onRetry={() => void refetch()}
      actions={
        <>
          <SearchBox
            label="Search what calls say"
            placeholder="Search what was said"
            value={q}
            onSearch={(next) => {
              const { q: _, ...rest } = search;
              void navigate({ search: next === undefined ? rest : { ...rest, q: next } });
            }}
          />
          <SourceSelect
            value={source}
            onChoose={(chosen) => void navigate({ search: withSource(search, chosen) })}
          />
          <ExportButton
            request={{ project_id: project, of: 'threads' }}
            lookUp={async (signal) => {
              const filter = await threadsFilter(project, search, signal);
              if (!filter) throw new Error('No thread matches.');
              return { filter };
            }}
          />
          {(hasTicked || isLater) && (
            <Button
              look="primary"
              onClick={() => {
                document.querySelector('[role="rowgroup"][tabindex="0"]')?.scrollTo({ top: 0 });
                toTop();
              }}
            >
              Refresh
            </Button>
          )}
          {goOn && (
            <Button onClick={goOn}>
              Show threads after these {rows.length.toLocaleString('en-US')}
            </Button>
          )}
        </>
      }
    >
      {isPending && <Skeleton rows={24} />}
      {data && rows.length === 0 && (
        <NoThreads
          project={project}
          isSearched={q !== undefined}
          onAll={
            source === 'all'
              ? undefined
              : () => void navigate({ search: { ...search, source: 'all' } })
          }
        />
      )}
      {rows.length > 0 && (
        <VirtualTable
          label="Threads"
          rows={rows}
          rowKey={({ thread_id }) => thread_id}
          columns={columns}
          onOpen={({ thread_id: threadId }) =>
            void navigate({
              to: '/p/$entity/$project/threads/$threadId',
              params: { entity, project: name, threadId },
            })
          }
          {...table}
        />
      )}
    </Page>
  );
}

/** Says why the list is empty, and what to do. */
const NoThreads = ({
  project,
  isSearched,
  onAll,
}: {
  project: string;
  isSearched: boolean;
  /** Shows the threads of all sources. */
  onAll: (() => void) | undefined;
}) => (
  <EmptyState title={isSearched ? 'No thread matches' : 'No threads yet'}>
    {isSearched ? (
      <p>No call of a thread says this.</p>
    ) : (
      <>
        <p>
          A call with a <code>thread_id</code> whose <code>turn_id</code> is its own id is a turn of
          that thread.
        </p>
        <Link to="/connect" search={{ project }} className={buttonClass('primary')}>
          Connect an application
        </Link>
      </>
    )}
    {onAll && <Button onClick={onAll}>Show all sources</Button>}
  </EmptyState>
);

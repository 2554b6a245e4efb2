import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { type Queue, queuesQuery } from '../api/annotation.ts';
import { useReread } from '../api/live-list.ts';
import { useLive } from '../api/live.ts';
import { noteProject } from '../api/recent-projects.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { count } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { type QueueStat, statsQuery } from './queries.ts';
import styles from './annotation.module.css';

const route = getRouteApi('/p/$entity/$project/queues');
const EditQueue = lazy(() =>
  import('./EditQueue.tsx').then((module) => ({ default: module.EditQueue })),
);
const DeleteQueue = lazy(() =>
  import('./DeleteQueue.tsx').then((module) => ({ default: module.DeleteQueue })),
);

type QueueDialog = { kind: 'new' } | { kind: 'edit' | 'delete'; queue: Queue };

export function QueuesPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const isWriter = mayActAs(useMe(), 'writer', project);
  const [asked, ask] = useState<QueueDialog>();
  useEffect(() => noteProject(project), [project]);
  const { queues, statById, error, refetch } = useQueues(project);
  return (
    <Page
      title="Queues"
      error={error}
      onRetry={() => void refetch()}
      actions={
        isWriter && (
          <Button look="primary" onClick={() => ask({ kind: 'new' })}>
            New queue
          </Button>
        )
      }
    >
      {!queues && !error && <Skeleton rows={8} />}
      {queues?.length === 0 && (
        <EmptyState title="No queues">
          <p>
            A queue holds calls that people judge one after the other. Create one, then select
            traces and add them to it.
          </p>
        </EmptyState>
      )}
      {queues && queues.length > 0 && (
        <Table
          label="Queues"
          rows={queues}
          rowKey={({ id }) => id}
          columns={queueColumns({
            entity,
            project: name,
            statById,
            onAsk: isWriter ? ask : undefined,
          })}
          sort=""
          onSort={() => undefined}
        />
      )}
      {asked && (
        <Dialogs
          project={project}
          asked={asked}
          statById={statById}
          onClose={() => ask(undefined)}
        />
      )}
    </Page>
  );
}

function useQueues(project: string) {
  const ofQueues = queuesQuery(project);
  const list = useQuery(ofQueues);
  const { data: queues, error } = list;
  const ofStats = statsQuery(project, queues?.map(({ id }) => id) ?? []);
  const stats = useQuery({ ...ofStats, enabled: queues !== undefined && queues.length > 0 });
  const reread = [useReread(ofQueues.queryKey), useReread(ofStats.queryKey)];
  useLive(project, ['annotation'], () => Promise.all(reread.map((again) => again())));
  const statById = new Map(stats.data?.map((stat) => [stat.queue_id, stat]));
  const failed = error ? list : stats;
  return { queues, statById, error: error ?? stats.error, refetch: failed.refetch };
}

function Dialogs({
  project,
  asked,
  statById,
  onClose,
}: {
  project: string;
  asked: QueueDialog;
  statById: ReadonlyMap<string, QueueStat>;
  onClose: () => void;
}) {
  const shared = { project, onClose };
  return (
    <Suspense fallback={null}>
      {asked.kind === 'delete' ? (
        <DeleteQueue
          {...shared}
          queue={asked.queue}
          total={statById.get(asked.queue.id)?.total_items}
        />
      ) : (
        <EditQueue {...shared} queue={asked.kind === 'edit' ? asked.queue : undefined} />
      )}
    </Suspense>
  );
}

function queueColumns({
  entity,
  project,
  statById,
  onAsk,
}: {
  entity: string;
  project: string;
  statById: ReadonlyMap<string, QueueStat>;
  /** Undefined when the user may change nothing. */
  onAsk: ((asked: QueueDialog) => void) | undefined;
}): TableColumn<Queue>[] {
  return [
    {
      name: 'name',
      title: 'Name',
      cell: ({ id, name: title, description }) => (
        <>
          <Link
            to="/p/$entity/$project/queues/$queueId"
            params={{ entity, project, queueId: id }}
            search={{}}
          >
            {visible(title)}
          </Link>{' '}
          <span className={styles['soft']} title={visible(description)}>
            {visible(description.slice(0, 200))}
          </span>
        </>
      ),
    },
    {
      name: 'progress',
      title: 'Done',
      isNumber: true,
      cell: ({ id, name: title }) => {
        const stat = statById.get(id);
        if (!stat) return '–';
        return (
          <span className={styles['progress']}>
            <progress
              aria-label={`Done of ${title}`}
              max={Math.max(1, stat.total_items)}
              value={stat.completed_items}
            />
            {count(stat.completed_items)} of {count(stat.total_items)}
          </span>
        );
      },
    },
    { name: 'by', title: 'Created by', cell: ({ created_by }) => created_by },
    { name: 'created', title: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
    ...(onAsk
      ? [
          {
            name: 'actions',
            title: 'Actions',
            cell: (queue: Queue) => (
              <>
                <Button
                  look="quiet"
                  aria-label={`Edit ${queue.name}`}
                  onClick={() => onAsk({ kind: 'edit', queue })}
                >
                  Edit
                </Button>
                <Button
                  look="quiet"
                  aria-label={`Delete ${queue.name}`}
                  onClick={() => onAsk({ kind: 'delete', queue })}
                >
                  Delete
                </Button>
              </>
            ),
          },
        ]
      : []),
  ];
}

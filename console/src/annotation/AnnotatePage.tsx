import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Queue } from '../api/annotation.ts';
import { useReread } from '../api/live-list.ts';
import { useLive } from '../api/live.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { count } from '../ui/format.ts';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { questionsQuery, type QueueStat, queueQuery, statsQuery } from './queries.ts';
import { QueueItemForm } from './QueueItemForm.tsx';
import { toQuestion } from './questions.ts';
import { useQueueItem } from './useQueueItem.ts';
import styles from './annotation.module.css';

const route = getRouteApi('/p/$entity/$project/queues/$queueId');
const QueueProgress = lazy(() =>
  import('./QueueProgress.tsx').then((module) => ({ default: module.QueueProgress })),
);

export function AnnotatePage() {
  const { entity, project: name, queueId } = route.useParams();
  const project = `${entity}/${name}`;
  const [isLooking, look] = useState(false);
  const { data: queue, error, refetch } = useQuery(queueQuery(project, queueId));
  const ofStats = statsQuery(project, [queueId]);
  const stat = useQuery(ofStats).data?.[0];
  useLive(project, ['annotation'], useReread(ofStats.queryKey));
  return (
    <Page
      title={queue ? visible(queue.name) : 'Queue'}
      isFull
      error={error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/queues" params={{ entity, project: name }}>
          All queues
        </Link>
      }
      actions={
        <>
          {stat && (
            <span role="status" className={styles['soft']}>
              {count(stat.completed_items)} of {count(stat.total_items)} done
            </span>
          )}
          <Button onClick={() => look(true)}>Progress</Button>
          <ExportButton
            request={{ project_id: project, of: 'feedback', query: isOfQueue(queueId) }}
            name={`${project}-${queue?.name ?? 'queue'}`}
          />
        </>
      }
    >
      {!queue && !error && <Skeleton rows={12} />}
      {queue && <Items project={project} queue={queue} stat={stat} />}
      {isLooking && (
        <Suspense fallback={null}>
          <QueueProgress project={project} queueId={queueId} onClose={() => look(false)} />
        </Suspense>
      )}
    </Page>
  );
}

const isOfQueue = (queueId: string) => ({
  $expr: { $eq: [{ $getField: 'queue_id' }, { $literal: queueId }] },
});

/** Reads the questions of a queue and the item to answer. */
function Items({
  project,
  queue,
  stat,
}: {
  project: string;
  queue: Queue;
  stat: QueueStat | undefined;
}) {
  const { item: itemId } = route.useSearch();
  const isWriter = mayActAs(useMe(), 'writer', project);
  const asked = useQuery(questionsQuery(project, queue.scorer_refs));
  const { query: item, show, goTo } = useQueueItem(project, queue.id, { itemId, isWriter });
  const failed = [asked, item].find(({ error }) => error);
  if (failed) return <ErrorRetry error={failed.error!} onRetry={() => void failed.refetch()} />;
  if (item.data === null) return <NothingLeft isKnown={itemId !== undefined} stat={stat} />;
  if (!item.data || !asked.data) return <Skeleton rows={12} />;
  const questions = asked.data.flatMap(({ spec }) => (spec ? [toQuestion(spec)] : []));
  const gone = asked.data.filter(({ spec }) => !spec);
  return (
    <>
      {queue.description !== '' && (
        <p className={styles['description']}>{visible(queue.description)}</p>
      )}
      {gone.length > 0 && (
        <p className={styles['description']} role="note">
          These questions were deleted, or belong to another project:{' '}
          {visible(gone.map(({ ref }) => ref).join(', '))}.
        </p>
      )}
      <QueueItemForm
        key={item.data.id}
        project={project}
        item={item.data}
        total={stat?.total_items}
        questions={questions}
        isWriter={isWriter}
        onNext={show}
        onGoTo={goTo}
      />
    </>
  );
}

function NothingLeft({ isKnown, stat }: { isKnown: boolean; stat: QueueStat | undefined }) {
  const { entity, project } = route.useParams();
  if (stat?.total_items === 0)
    return (
      <EmptyState title="The queue is empty">
        <p>
          Select traces in the list of{' '}
          <Link to="/p/$entity/$project/traces" params={{ entity, project }} search={{}}>
            traces
          </Link>
          , and add them to this queue.
        </p>
      </EmptyState>
    );
  if (!isKnown)
    return (
      <EmptyState title="No item is waiting">
        <p>Every item has been judged, or somebody has started it. Progress shows who.</p>
      </EmptyState>
    );
  return (
    <EmptyState title="There is no such item">
      <p>Its call was deleted, or the item belongs to another queue.</p>
      <Link from="/p/$entity/$project/queues/$queueId" to="." search={{}}>
        Open the next item
      </Link>
    </EmptyState>
  );
}

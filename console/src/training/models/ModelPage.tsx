import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useLive } from '../../api/live.ts';
import { visible } from '../../json/visible-text.ts';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { number } from '../../ui/format.ts';
import { EmptyState, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { Table } from '../../ui/Table.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { type Model, modelsQuery } from '../queries.ts';
import { Jobs } from '../Jobs.tsx';
import { MetricCharts } from '../MetricCharts.tsx';
import { makeCharts, type MetricRow, listSplits } from '../metrics.ts';
import { AliasMoves } from './AliasMoves.tsx';
import { aliasesAt, aliasesQuery, type Checkpoint, checkpointsQuery } from './queries.ts';
import { Trajectories } from '../Trajectories.tsx';
import styles from '../training.module.css';

const route = getRouteApi('/p/$entity/$project/training/models/$modelId');
/** Metrics with a column in the table. The charts show all metrics. */
const COLUMNS = 5;

export function ModelPage() {
  const { entity, project, modelId } = route.useParams();
  const models = useQuery(modelsQuery(entity, project));
  const model = models.data?.find(({ id }) => id === modelId);
  const isMissing = models.data !== undefined && !model;
  return (
    <Page
      title={model?.name ?? (isMissing ? 'No such model' : '…')}
      isFull
      error={models.error}
      onRetry={() => void models.refetch()}
      note={
        <>
          {model && `of ${model.base_model} · `}
          <Link to="/p/$entity/$project/training" params={{ entity, project }}>
            All models
          </Link>
        </>
      }
      actions={model && <CopyButton label="Copy id" text={modelId} />}
    >
      {isMissing && (
        <EmptyState title="There is no such model in this project">
          <p>It may have been deleted, with its checkpoints and its trajectories.</p>
        </EmptyState>
      )}
      {models.isPending && <Skeleton rows={12} />}
      {model && <ModelTabs models={models.data!} />}
    </Page>
  );
}

function ModelTabs({ models }: { models: readonly Model[] }) {
  const { entity, project, modelId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(
    checkpointsQuery(modelId),
  );
  useLive(`${entity}/${project}`, ['models'], () => {
    if (data?.pages.length === 1) return refetch();
  });
  const rows = useMemo(() => metricRows(data?.pages), [data]);
  const tainted = useMemo(
    () =>
      new Set(
        data?.pages
          .flatMap((page) => page.data)
          .filter(({ tainted_at }) => tainted_at)
          .map(({ step }) => step),
      ),
    [data],
  );
  const onOlder = hasNextPage ? () => void fetchNextPage() : undefined;
  return (
    <div className={styles['body']}>
      <Tabs
        isFull
        value={search.tab ?? 'checkpoints'}
        onChange={(tab) => void navigate({ search: tab === 'checkpoints' ? {} : { tab } })}
        tabs={[
          {
            value: 'checkpoints',
            label: 'Checkpoints',
            content: (
              <>
                {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
                {rows && <Checkpoints rows={rows} tainted={tainted} onOlder={onOlder} />}
                {!rows && !error && <Skeleton rows={12} />}
              </>
            ),
          },
          {
            value: 'promotions',
            label: 'Promotions',
            content: (
              <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Promotions">
                <AliasMoves entity={entity} project={project} modelId={modelId} />
              </div>
            ),
          },
          {
            value: 'jobs',
            label: 'Jobs',
            content: <Jobs entity={entity} project={project} models={models} modelId={modelId} />,
          },
          {
            value: 'trajectories',
            label: 'Trajectories',
            content: (
              <Trajectories
                modelId={modelId}
                splits={listSplits(rows ?? [])}
                search={search}
                onSearch={(next) => void navigate({ search: { tab: 'trajectories', ...next } })}
              />
            ),
          },
        ]}
      />
    </div>
  );
}

/** The metrics of the loaded checkpoints, oldest first. */
const metricRows = (pages: { data: Checkpoint[] }[] | undefined): MetricRow[] | undefined =>
  pages
    ?.flatMap(({ data }) => data)
    .map(({ step, metrics }) => ({ at: step, metrics }))
    .toReversed();

function Checkpoints({
  rows,
  tainted,
  onOlder,
}: {
  rows: readonly MetricRow[];
  /** Steps that were trained on purged calls. */
  tainted: ReadonlySet<number>;
  onOlder: (() => void) | undefined;
}) {
  const { entity, project, modelId } = route.useParams();
  const { data: aliases } = useQuery(aliasesQuery(`${entity}/${project}`, modelId));
  const columns = useMemo(
    () =>
      makeCharts(rows)
        .flatMap(({ title, series }) => series.map((one) => ({ title, ...one })))
        .slice(0, COLUMNS)
        .map(({ title, label, values }) => ({
          name: `${label}/${title}`,
          title: label === 'trainer' ? title : `${label}/${title}`,
          isNumber: true,
          cell: (index: number) => number(values[index]),
        })),
    [rows],
  );
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Checkpoints">
      {columns.length > 0 && <MetricCharts name="Step" rows={rows} />}
      {columns.length === 0 && (
        <p className={styles['soft']}>
          No metrics yet. They come from the first job that succeeds, or from trajectories that are
          logged.
        </p>
      )}
      <Table
        label="Checkpoints"
        rows={[...rows.keys()].toReversed()}
        rowKey={(index) => String(rows[index]!.at)}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'step',
            title: 'Step',
            cell: (index) => (
              <span className={styles['marked']}>
                <Link
                  to="/p/$entity/$project/training/models/$modelId/checkpoints/$step"
                  params={{ entity, project, modelId, step: String(rows[index]!.at) }}
                  title="Open the files, the job and the lineage of this checkpoint"
                >
                  {rows[index]!.at}
                </Link>
                {aliasesAt(aliases, rows[index]!.at).map((alias) => (
                  <strong key={alias} className={styles['mark']}>
                    {visible(alias)}
                  </strong>
                ))}
                {tainted.has(rows[index]!.at) && <span className={styles['bad']}>tainted</span>}
              </span>
            ),
          },
          ...columns,
        ]}
      />
      {onOlder && <Button onClick={onOlder}>Show older checkpoints</Button>}
    </div>
  );
}

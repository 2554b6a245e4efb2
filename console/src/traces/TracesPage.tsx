import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import type { CallRow } from '../api/calls.ts';
import { useReread } from '../api/live-list.ts';
import { useLive } from '../api/live.ts';
import { noteProject } from '../api/recent.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { Button, buttonClass } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { CopyButton } from '../ui/CopyButton.tsx';
import { Fault } from '../ui/Fault.tsx';
import { Empty, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { VirtualTable } from '../ui/VirtualTable.tsx';
import { selectionColumn, traceColumns } from './columns.tsx';
import { counted, shown } from './count.ts';
import { BadFilter } from './filter.ts';
import { FilterBar } from './FilterBar.tsx';
import {
  asCurl,
  type CallsRequest,
  choice,
  pageRequest,
  type Range,
  RANGES,
  type TracesSearch,
} from './request.ts';
import styles from './traces.module.css';
import { useRemarks } from './useRemarks.ts';
import { useTraces } from './useTraces.ts';

const route = getRouteApi('/p/$entity/$project/traces');
const Views = lazy(() => import('./Views.tsx').then((module) => ({ default: module.Views })));
const Selection = lazy(() =>
  import('./Selection.tsx').then((module) => ({ default: module.Selection })),
);

/** The newest traces of a project. What is chosen stands in the address. */
export function TracesPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const chosen = useMemo(() => chosenBy(project, search), [project, search]);
  const [isLive, setLive] = useState(true);
  const [isChoosing, choose] = useState(false);
  const set = (next: TracesSearch) => void navigate({ search: next });
  return (
    <Page
      title="Traces"
      isFull
      note={<Count chosen={chosen} isLive={isLive} />}
      actions={
        <>
          <select
            aria-label="Time range"
            className={controls['input']}
            value={search.range ?? ''}
            onChange={({ target }) => {
              const { range: _, ...rest } = search;
              set(target.value === '' ? rest : { ...rest, range: target.value as Range });
            }}
          >
            <option value="">All time</option>
            {Object.entries(RANGES).map(([value, [label]]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <Button
            look="quiet"
            aria-pressed={search.all === true}
            title="Every call, not only the roots of traces"
            onClick={() => {
              const { all, ...rest } = search;
              set(all ? rest : { ...rest, all: true });
            }}
          >
            All calls
          </Button>
          <Button look="quiet" aria-pressed={isLive} onClick={() => setLive(!isLive)}>
            Live
          </Button>
          <Button onClick={() => choose(true)}>Views</Button>
          <CopyButton
            label="Copy as curl"
            text={() => asCurl(location.origin, pageRequest(chosen))}
          />
        </>
      }
    >
      <List
        key={JSON.stringify([project, search])}
        project={project}
        search={search}
        chosen={chosen}
        isLive={isLive}
        onSearch={set}
      />
      {isChoosing && (
        <Suspense fallback={null}>
          <Views
            project={project}
            search={search}
            onOpen={(next) => {
              choose(false);
              set(next);
            }}
            onClose={() => choose(false)}
          />
        </Suspense>
      )}
    </Page>
  );
}

/** A filter in the address that cannot be read chooses all. */
function chosenBy(project: string, search: TracesSearch): CallsRequest {
  try {
    return choice(project, search, Date.now());
  } catch (error) {
    if (!(error instanceof BadFilter)) throw error;
    const { q: _, ...rest } = search;
    return choice(project, rest, Date.now());
  }
}

interface ListProps {
  project: string;
  search: TracesSearch;
  chosen: CallsRequest;
  isLive: boolean;
  onSearch: (search: TracesSearch) => void;
}

function List({ project, search, chosen, isLive, onSearch }: ListProps) {
  const navigate = useNavigate();
  const [entity, name] = project.split('/') as [string, string];
  const { pages, rows, waiting, idsInView, isLater, goOn, toTop, table } = useTraces(chosen, {
    isLive,
  });
  const remarks = useRemarks(project, idsInView);
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const isWriter = mayActAs(useMe(), 'writer', project);
  const columns = useMemo(() => {
    const all = traceColumns(project, remarks);
    return isWriter ? [selectionColumn(rows, selected, select), ...all] : all;
  }, [project, remarks, isWriter, rows, selected]);
  const open = (row: CallRow) =>
    void navigate({
      to: '/p/$entity/$project/traces/$traceId',
      params: { entity, project: name, traceId: row.trace_id },
      search: row.parent_id ? { call: row.id } : {},
    });
  const isFiltered = search.q !== undefined || search.range !== undefined;
  return (
    <>
      <div className={styles['bar']}>
        <FilterBar
          project={project}
          value={search.q ?? ''}
          rows={rows}
          onApply={(q) => {
            const { q: _, ...rest } = search;
            onSearch(q === '' ? rest : { ...rest, q });
          }}
        />
        {(waiting || isLater) && (
          <Button
            look="primary"
            onClick={() => {
              document.querySelector('[role="table"] [tabindex="0"]')?.scrollTo({ top: 0 });
              toTop();
            }}
          >
            {waiting ? `${waiting} new` : 'Newest'}
          </Button>
        )}
        {goOn && (
          <Button onClick={goOn}>Older than these {rows.length.toLocaleString('en-US')}</Button>
        )}
      </div>
      <Chosen project={project} selected={selected} onClear={() => select(new Set())} />
      {pages.error && <Fault error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.isPending && <Skeleton rows={24} />}
      {pages.data && rows.length === 0 && (
        <Nothing isFiltered={isFiltered} project={project} onAll={() => onSearch({})} />
      )}
      {rows.length > 0 && (
        <VirtualTable
          label="Traces"
          rows={rows}
          rowKey={({ id }) => id}
          columns={columns}
          onOpen={open}
          {...table}
        />
      )}
    </>
  );
}

function Chosen(props: Parameters<typeof Selection>[0]) {
  if (props.selected.size === 0) return null;
  return (
    <Suspense fallback={null}>
      <Selection {...props} />
    </Suspense>
  );
}

function Nothing({
  isFiltered,
  project,
  onAll,
}: {
  isFiltered: boolean;
  project: string;
  onAll: () => void;
}) {
  if (isFiltered)
    return (
      <Empty title="No trace matches">
        <p>Nothing in this project is as the filter and the time range ask.</p>
        <Button onClick={onAll}>Show all traces</Button>
      </Empty>
    );
  return (
    <Empty title="No traces yet">
      <p>What is sent to {project} appears here by itself.</p>
      <Link to="/connect" search={{ project }} className={buttonClass('primary')}>
        Connect an application
      </Link>
    </Empty>
  );
}

/** How many there are in all. It is no wait for the rows. */
function Count({ chosen, isLive }: { chosen: CallsRequest; isLive: boolean }) {
  const queryKey = ['count of traces', chosen];
  const { data } = useQuery({ queryKey, queryFn: ({ signal }) => counted(chosen, signal) });
  useLive(isLive ? chosen.project_id : undefined, ['calls'], useReread(queryKey));
  return <span className={styles['count']}>{data && shown(data)}</span>;
}

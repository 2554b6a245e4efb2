import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, type RefObject, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { CallRow } from '../api/calls.ts';
import { useReread } from '../api/live-list.ts';
import { useIsConnected, useLive } from '../api/live.ts';
import { noteProject } from '../api/recent-projects.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { withSource } from '../api/sources.ts';
import { Button } from '../ui/Button.tsx';
import { historyNow } from '../ui/scroll-positions.ts';
import { CopyButton } from '../ui/CopyButton.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { SourceSelect } from '../ui/SourceSelect.tsx';
import { TimeRange } from '../ui/TimeRange.tsx';
import { VirtualTable } from '../ui/VirtualTable.tsx';
import { openedCall, selectionColumn, traceColumns } from './columns.tsx';
import { isPath } from './column-names.ts';
import { countText } from './count.ts';
import { countQuery, matchesQuery } from './queries.ts';
import { storeColumns, storedColumns } from './stored-columns.ts';
import { useDocuments } from './useDocuments.ts';
import { InvalidFilter, soughtTexts } from './filter.ts';
import { FilterBar } from './FilterBar.tsx';
import {
  type CallsRequest,
  callsRequest,
  RANGES,
  type TracesSearch,
  usualSource,
} from './request.ts';
import styles from './traces.module.css';
import { useRemarks } from '../api/remarks.ts';
import { LABEL, useTraces } from './useTraces.ts';

const route = getRouteApi('/p/$entity/$project/traces');
const Views = lazy(() =>
  import('./SavedViews.tsx').then((module) => ({ default: module.SavedViews })),
);
const ArrangeColumns = lazy(() =>
  import('./ArrangeColumns.tsx').then((module) => ({ default: module.ArrangeColumns })),
);
const ExportAll = lazy(() =>
  import('../ui/ExportAll.tsx').then((module) => ({ default: module.ExportAll })),
);
const NoTraces = lazy(() =>
  import('./NoTraces.tsx').then((module) => ({ default: module.NoTraces })),
);
const Unreadable = lazy(() =>
  import('./NoTraces.tsx').then((module) => ({ default: module.Unreadable })),
);
const Selection = lazy(() =>
  import('./Selection.tsx').then((module) => ({ default: module.Selection })),
);

export function TracesPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const chosen = useMemo(() => requestOfSearch(project, search, historyNow()), [project, search]);
  const shown = useRef<CallRow[]>([]);
  const [isLive, setLive] = useState(true);
  const [isChoosing, choose] = useState(false);
  const [isArranging, arrange] = useState(false);
  const [isExporting, exportAll] = useState(false);
  const set = (next: TracesSearch) => void navigate({ search: next });
  return (
    <Page
      title="Traces"
      isFull
      note={chosen && <Count chosen={chosen} isLive={isLive} />}
      actions={
        <>
          <SourceSelect
            value={search.source ?? usualSource(search)}
            usual={usualSource(search)}
            onChoose={(chosenSource) => set(withSource(search, chosenSource))}
          />
          <TimeRange
            ranges={RANGES}
            value={search}
            all="All time"
            onChoose={(chosenTime) => {
              const { range: _, from: _from, to: _to, ...rest } = search;
              set({ ...rest, ...chosenTime });
            }}
          />
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
          <Live project={project} isLive={isLive} onLive={setLive} />
          <Button onClick={() => arrange(true)}>Columns</Button>
          <Button onClick={() => choose(true)}>Views</Button>
          {chosen && <Button onClick={() => exportAll(true)}>Export</Button>}
          {chosen && (
            <CopyButton
              label="Copy as curl"
              text={async () =>
                (await import('./as-curl.ts')).asCurl(location.origin, chosen, search.sort)
              }
            />
          )}
        </>
      }
    >
      <div className={styles['bar']}>
        <FilterBar
          project={project}
          value={search.q ?? ''}
          shown={shown}
          onApply={(q) => {
            const { q: _, ...rest } = search;
            set(q === '' ? rest : { ...rest, q });
          }}
        />
      </div>
      {chosen ? (
        <TracesList
          key={JSON.stringify([project, search])}
          project={project}
          search={search}
          chosen={chosen}
          isLive={isLive}
          shown={shown}
          onSearch={set}
        />
      ) : (
        <Suspense fallback={null}>
          <Unreadable onSearch={set} />
        </Suspense>
      )}
      {isExporting && chosen && (
        <Suspense fallback={null}>
          <ExportAll request={{ ...chosen, of: 'calls' }} onClose={() => exportAll(false)} />
        </Suspense>
      )}
      {isArranging && (
        <Suspense fallback={null}>
          <ArrangeColumns
            chosen={search.cols ?? storedColumns(project)}
            onChoose={(cols) => {
              arrange(false);
              storeColumns(project, cols);
              const { cols: _, ...rest } = search;
              set(cols ? { ...rest, cols } : rest);
            }}
            onClose={() => arrange(false)}
          />
        </Suspense>
      )}
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

/** Switches following changes on and off. It is shown as off while changes do not reach the page. */
function Live({
  project,
  isLive,
  onLive,
}: {
  project: string;
  isLive: boolean;
  onLive: (isLive: boolean) => void;
}) {
  const isConnected = useIsConnected(project);
  const isAway = isLive && !isConnected;
  return (
    <Button
      look="quiet"
      aria-pressed={isLive && isConnected}
      title={isAway ? 'The connection for live changes is lost' : undefined}
      onClick={() => onLive(!isLive)}
    >
      {isAway ? 'Reconnecting…' : 'Live'}
    </Button>
  );
}

/** Scrolls to the top of the list. */
const Newer = ({ onClick, children }: { onClick: () => void; children: string }) => (
  <Button
    look="primary"
    onClick={() => {
      document.querySelector('[role="rowgroup"][tabindex="0"]')?.scrollTo({ top: 0 });
      onClick();
    }}
  >
    {children}
  </Button>
);

/** Undefined for a filter that cannot be parsed. */
function requestOfSearch(
  project: string,
  search: TracesSearch,
  now: number,
): CallsRequest | undefined {
  try {
    return callsRequest(project, search, now);
  } catch (error) {
    if (!(error instanceof InvalidFilter)) throw error;
    return undefined;
  }
}

interface ListProps {
  project: string;
  search: TracesSearch;
  chosen: CallsRequest;
  isLive: boolean;
  /** Receives the rows of the list. */
  shown: RefObject<CallRow[]>;
  onSearch: (search: TracesSearch) => void;
}

function TracesList({ project, search, chosen, isLive, shown: told, onSearch }: ListProps) {
  const navigate = useNavigate();
  const [entity, name] = project.split('/') as [string, string];
  const { sort } = search;
  const names = search.cols ?? storedColumns(project);
  const list = useTraces(chosen, {
    isLive,
    sort,
    withSizes: names.some(isPath),
  });
  const { pages, rows, waiting, idsInView, inView, isLater, goOn, toTop, table } = list;
  const documents = useDocuments(project, rows.slice(...inView), names);
  useEffect(() => void (told.current = rows), [told, rows]);
  const remarks = useRemarks(project, idsInView);
  const { sought, matches } = useMatches(project, chosen, idsInView);
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const isWriter = mayActAs(useMe(), 'writer', project);
  const columns = useMemo(() => {
    const all = traceColumns(names, {
      project,
      remarks,
      documents,
      sought,
      matches,
      sort,
      onSort: (next) => {
        const { sort: _, ...rest } = search;
        onSearch(next ? { ...rest, sort: next } : rest);
      },
    });
    return isWriter ? [selectionColumn(rows, selected, select), ...all] : all;
    // `names` depends on the search only
  }, [project, search, remarks, documents, matches, isWriter, rows, selected]); // eslint-disable-line react-hooks/exhaustive-deps
  const open = (row: CallRow) =>
    void navigate({
      to: '/p/$entity/$project/traces/$traceId',
      params: { entity, project: name, traceId: row.trace_id },
      search: openedCall(row, sought),
    });
  return (
    <>
      <div className={styles['pills']}>
        {(waiting || isLater) && (
          <Newer onClick={toTop}>
            {waiting ? `${waiting} new` : sort ? 'First page' : 'Newest'}
          </Newer>
        )}
        <AllTraces search={search} onSearch={onSearch} />
        {goOn && (
          <Button onClick={goOn}>
            Show traces after these {rows.length.toLocaleString('en-US')}
          </Button>
        )}
      </div>
      <SelectionBar project={project} selected={selected} onClear={() => select(new Set())} />
      {pages.error && <ErrorRetry error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.isPending && <Skeleton rows={24} />}
      {pages.data && rows.length === 0 && (
        <Suspense fallback={null}>
          <NoTraces search={search} project={project} onSearch={onSearch} />
        </Suspense>
      )}
      {rows.length > 0 && (
        <VirtualTable
          label={LABEL}
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

/** The texts that the filter searches in documents, and where the calls say them. */
function useMatches(project: string, { query }: CallsRequest, ids: string[]) {
  const sought = soughtTexts(query ?? {});
  const { data: matches } = useQuery(matchesQuery(project, ids, sought));
  return { sought, matches };
}

/** Links from the orphans back to all traces. */
function AllTraces({ search, onSearch }: Pick<ListProps, 'search' | 'onSearch'>) {
  const { orphans, ...rest } = search;
  return orphans ? <Button onClick={() => onSearch(rest)}>All traces</Button> : null;
}

function SelectionBar(props: Parameters<typeof Selection>[0]) {
  if (props.selected.size === 0) return null;
  return (
    <Suspense fallback={null}>
      <Selection {...props} />
    </Suspense>
  );
}

/** Shows the number of all rows. The list does not wait for it. */
function Count({ chosen, isLive }: { chosen: CallsRequest; isLive: boolean }) {
  const ofCount = countQuery(chosen);
  const { data } = useQuery(ofCount);
  useLive(isLive ? chosen.project_id : undefined, ['calls'], useReread(ofCount.queryKey));
  return <span className={styles['count']}>{data && countText(data)}</span>;
}

import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useLive } from '../api/live.ts';
import { VIEW_CLASS } from '../api/object-classes.ts';
import { noteProject } from '../api/recent-projects.ts';
import { visible } from '../json/visible-text.ts';
import { inputClass } from '../ui/Field.tsx';
import { bytes } from '../ui/format.ts';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { SearchBox } from '../ui/SearchBox.tsx';
import { Time } from '../ui/Time.tsx';
import { type Column, VirtualTable } from '../ui/VirtualTable.tsx';
import { ImportButton } from './ImportButton.tsx';
import type { ObjectsSearch, Sort } from './search.ts';
import { versionClass, versionUser, type Version, versionsQuery } from './queries.ts';
import styles from './objects.module.css';

const route = getRouteApi('/p/$entity/$project/objects');
const NEWEST_FIRST: Sort = '-created_at';
const KINDS = { object: 'Objects only', op: 'Ops only' };

export function ObjectsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const filter = {
    exclude_base_object_classes: [VIEW_CLASS],
    latest_only: true,
    ...(search.kind !== undefined && { is_op: search.kind === 'op' }),
    ...(search.q !== undefined && { object_id_contains: search.q }),
  };
  const objects = useInfiniteQuery(versionsQuery(project, filter, search.sort ?? NEWEST_FIRST));
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = objects;
  useLive(project, ['objects'], () => {
    // a long list does not move while it is read
    if (data?.pages.length === 1) return refetch();
  });
  const rows = data?.pages.flat() ?? [];
  const set = (next: ObjectsSearch) => void navigate({ search: next });
  const columns = useMemo(
    () => objectColumns(entity, name, search, (next) => void navigate({ search: next })),
    [entity, name, search, navigate],
  );
  return (
    <Page
      title="Objects"
      isFull
      error={error}
      onRetry={() => void refetch()}
      actions={
        <>
          <SearchBox
            label="Search names"
            placeholder="Search names"
            value={search.q}
            onSearch={(q) => {
              const { q: _, ...rest } = search;
              set(q === undefined ? rest : { ...rest, q });
            }}
          />
          <ExportButton request={{ project_id: project, of: 'objects', filter }} />
          <ImportButton label="Import a dataset" project={project} />
          <select
            aria-label="Kind"
            className={inputClass}
            value={search.kind ?? ''}
            onChange={({ target }) => {
              const { kind: _, ...rest } = search;
              const kind = target.value as '' | 'object' | 'op';
              set(kind === '' ? rest : { ...rest, kind });
            }}
          >
            <option value="">Objects and ops</option>
            {Object.entries(KINDS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </>
      }
    >
      {objects.isPending && <Skeleton rows={20} />}
      {data && rows.length === 0 && <NoObjects q={search.q} />}
      {rows.length > 0 && (
        <VirtualTable
          label="Objects"
          rows={rows}
          rowKey={({ object_id, kind }) => `${kind} ${object_id}`}
          columns={columns}
          onOpen={({ object_id }) =>
            void navigate({
              to: '/p/$entity/$project/objects/$objectId',
              params: { entity, project: name, objectId: object_id },
              search: {},
            })
          }
          onEnd={() => {
            if (hasNextPage && !isFetching) void fetchNextPage();
          }}
        />
      )}
    </Page>
  );
}

const NoObjects = ({ q }: Pick<ObjectsSearch, 'q'>) =>
  q === undefined ? (
    <EmptyState title="No objects">
      <p>
        Prompts, datasets, models and ops that a client publishes get a name here, and a version
        each time they change. <code>POST /obj/create</code> makes one.
      </p>
    </EmptyState>
  ) : (
    <EmptyState title="No object matches">
      <p>No name contains “{visible(q)}”.</p>
    </EmptyState>
  );

function objectColumns(
  entity: string,
  project: string,
  search: ObjectsSearch,
  onSearch: (search: ObjectsSearch) => void,
): Column<Version>[] {
  const sorted = (title: string, ascending: Sort, first: Sort) => {
    const sort = search.sort ?? NEWEST_FIRST;
    const isOn = sort.replace('-', '') === ascending;
    const other = sort === ascending ? (`-${ascending}` as Sort) : ascending;
    return (
      <button
        type="button"
        className={styles['sort']}
        onClick={() => onSearch({ ...search, sort: isOn ? other : first })}
      >
        {title}
        {isOn && (sort === ascending ? ' ↑' : ' ↓')}
      </button>
    );
  };
  return [
    {
      name: 'name',
      title: sorted('Name', 'object_id', 'object_id'),
      width: 'minmax(140px, 1fr)',
      cell: ({ object_id }) => (
        <Link
          to="/p/$entity/$project/objects/$objectId"
          params={{ entity, project, objectId: object_id }}
          title={object_id}
        >
          {object_id}
        </Link>
      ),
    },
    {
      name: 'class',
      title: 'Class',
      width: 'minmax(70px, 0.3fr)',
      cell: (row) => <span title={versionClass(row)}>{versionClass(row)}</span>,
    },
    {
      name: 'version',
      title: 'Latest',
      width: '56px',
      isNumber: true,
      cell: (row) => `v${row.version_index}`,
    },
    {
      name: 'size',
      title: 'Size',
      width: '72px',
      isNumber: true,
      cell: (row) => bytes(row.size_bytes),
    },
    {
      name: 'user',
      title: 'User',
      width: '90px',
      cell: (row) => <span title={versionUser(row) ?? ''}>{versionUser(row)}</span>,
    },
    {
      name: 'created',
      title: sorted('Created', 'created_at', NEWEST_FIRST),
      width: '124px',
      cell: (row) => <Time at={row.created_at} />,
    },
  ];
}

import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useLive } from '../api/live.ts';
import { wire } from '../api/wire.ts';
import { JsonView } from '../json/JsonView.tsx';
import { LongText } from '../json/LongText.tsx';
import { decoded } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import controls from '../ui/controls.module.css';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { bytes } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { Time } from '../ui/Time.tsx';
import { Files, findFiles } from './Files.tsx';
import { ImportButton } from './ImportButton.tsx';
import type { ObjectSearch, VersionProps } from './search.ts';
import {
  versionClass,
  versionRef,
  versionUser,
  type IndexedValue,
  valueQuery,
  versionsQuery,
} from './queries.ts';
import styles from './objects.module.css';

const route = getRouteApi('/p/$entity/$project/objects/$objectId');
const Rows = lazy(() => import('./Rows.tsx').then((module) => ({ default: module.Rows })));
const VersionChanges = lazy(() =>
  import('./VersionChanges.tsx').then((module) => ({ default: module.VersionChanges })),
);
const VersionUses = lazy(() =>
  import('./VersionUses.tsx').then((module) => ({ default: module.VersionUses })),
);

export function ObjectPage() {
  const { entity, project: name, objectId } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useInfiniteQuery(versionsQuery(project, { object_ids: [objectId] }, '-created_at'));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = query;
  useLive(project, ['objects'], () => {
    if (data?.pages.length === 1) return refetch();
  });
  const versions = data?.pages.flat() ?? [];
  const shown = search.version
    ? versions.find(({ digest }) => digest === search.version)
    : versions[0];
  const set = (next: ObjectSearch) => void navigate({ search: next });
  return (
    <Page
      title={objectId}
      isFull
      error={error}
      onRetry={() => void refetch()}
      note={
        <Link to="/p/$entity/$project/objects" params={{ entity, project: name }}>
          All objects
        </Link>
      }
      actions={
        shown && (
          <>
            {versionClass(shown) === 'Dataset' && (
              <ImportButton label="Import" project={project} objectId={objectId} />
            )}
            <CopyButton label="Copy ref" text={versionRef(project, shown)} />
          </>
        )
      }
    >
      {query.isPending && <Skeleton rows={12} />}
      {data && versions.length === 0 && (
        <EmptyState title="No such object">
          <p>
            There is no {objectId} in {project}; it may have been deleted.
          </p>
        </EmptyState>
      )}
      {versions.length > 0 && (
        <div className={styles['columns']}>
          <nav aria-label="Versions" className={`${controls['choices']} ${styles['versions']}`}>
            <ol>
              {versions.map((version) => (
                <li key={version.digest}>
                  <button
                    type="button"
                    aria-current={version === shown ? 'true' : undefined}
                    onClick={() =>
                      set({ ...(search.tab && { tab: search.tab }), version: version.digest })
                    }
                  >
                    <strong>v{version.version_index}</strong>
                    <span>{bytes(version.size_bytes)}</span>
                    <Time at={version.created_at} />
                    <code title={version.digest}>{version.digest.slice(0, 10)}</code>
                    <span title={versionUser(version) ?? ''}>{versionUser(version)}</span>
                  </button>
                </li>
              ))}
            </ol>
            {hasNextPage && (
              <Button disabled={isFetching} onClick={() => void fetchNextPage()}>
                Show older versions
              </Button>
            )}
          </nav>
          {shown ? (
            <VersionView
              key={shown.digest}
              project={project}
              version={shown}
              versions={versions}
              search={search}
              onSearch={set}
            />
          ) : (
            <EmptyState title="No such version">
              <p>The versions that are loaded here do not include it.</p>
            </EmptyState>
          )}
        </div>
      )}
    </Page>
  );
}

function VersionView({ project, version, versions, search, onSearch }: VersionProps) {
  const { data: value, error, refetch } = useQuery(valueQuery(project, version));
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!value) return <Skeleton rows={12} />;
  const table = findTable(project, value);
  const shared = { project, version, versions, search, onSearch };
  const tabs = [
    ...(table === undefined
      ? []
      : [{ value: 'rows' as const, label: 'Rows', content: <Rows {...shared} table={table} /> }]),
    {
      value: 'value' as const,
      label: 'Value',
      content: <ValueView project={project} value={value} />,
    },
    {
      value: 'changes' as const,
      label: 'Changes',
      content: <VersionChanges {...shared} value={value} />,
    },
    { value: 'calls' as const, label: 'Used by', content: <VersionUses {...shared} /> },
  ];
  const first = tabs[0]!.value;
  return (
    <section aria-label={`Version ${version.version_index}`} className={styles['shown']}>
      <Suspense fallback={<Skeleton rows={8} />}>
        <Tabs
          isFull
          value={tabs.some((tab) => tab.value === search.tab) ? search.tab! : first}
          onChange={(tab) => {
            const { version: digest } = search;
            onSearch({ ...(digest !== undefined && { version: digest }), tab });
          }}
          tabs={tabs}
        />
      </Suspense>
    </section>
  );
}

/** Shows the value of a version. Long texts open whole, since prompts are often long. */
function ValueView({ project, value: { index, root } }: { project: string; value: IndexedValue }) {
  const [text, showText] = useState<number>();
  const files = findFiles({ index, root });
  if (text !== undefined) {
    const whole = decoded(index.nodeText(text));
    return (
      <>
        <div className={styles['bar']}>
          <Button onClick={() => showText(undefined)}>Back</Button>
          <CopyButton label="Copy text" text={whole} />
        </div>
        <LongText label="Text" text={whole} />
      </>
    );
  }
  return (
    <>
      {files.length > 0 && <Files project={project} files={files} />}
      <JsonView index={index} sections={[{ title: 'Value', root }]} onText={showText} />
    </>
  );
}

/** The digest of the table that holds a dataset's rows. */
function findTable(project: string, { index, root }: IndexedValue): string | undefined {
  if (index.kind(root) !== 'object') return undefined;
  const rows = index.member(root, 'rows');
  if (rows === undefined || index.kind(rows) !== 'string') return undefined;
  const ref = JSON.parse(index.nodeText(rows)) as string;
  const prefix = `${wire.scheme}:///${project}/table/`;
  return ref.startsWith(prefix) ? ref.slice(prefix.length) : undefined;
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { RowPager } from '../ui/RowPager.tsx';
import { SearchBox } from '../ui/SearchBox.tsx';
import { ChangeRows } from './ChangeRows.tsx';
import { rowCountQuery, ROWS, rowsQuery, rowsSaying, sourcesQuery } from './queries.ts';
import type { VersionProps } from './search.ts';
import { RowGrid } from './RowGrid.tsx';
import { columnNames, csvLine, csvLines, jsonLines, readRows, type TableRows } from './rows.ts';
import { downloadFile } from '../ui/download.ts';
import styles from './objects.module.css';

const SAVED_AT_ONCE = 1000;

export function Rows({
  project,
  version,
  versions,
  search,
  onSearch,
  table,
}: VersionProps & { table: string }) {
  const me = useMe();
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const { page = 1, sort, q } = search;
  const of = { project_id: project, digest: table };
  const { total, rows, sources } = useRows(of, version.object_id, search);
  const { data, error } = rows;
  const saving = useMutation({
    mutationFn: (kind: 'csv' | 'jsonl') => saveAll(of, `${version.object_id}.${kind}`, kind),
  });
  if (error)
    return (
      <>
        <div className={styles['bar']}>
          <RowSearch search={search} onSearch={onSearch} />
        </div>
        <ErrorRetry error={error} onRetry={() => void rows.refetch()} />
      </>
    );
  if (!data) return <Skeleton rows={12} />;
  // rows can be removed from the latest version only
  const mayChange = version === versions[0] && mayActAs(me, 'writer', project);
  const turn = (to: number) => {
    const { page: _, ...rest } = search;
    onSearch(to <= 1 ? rest : { ...rest, page: to });
  };
  return (
    <div className={styles['rows']}>
      <div className={styles['bar']}>
        <RowSearch search={search} onSearch={onSearch} />
        <RowPager
          total={total ?? knownRows(page, data)}
          isLeast={total === undefined}
          rowsPerPage={ROWS}
          page={page}
          onTurn={turn}
        />
        <span className={styles['space']} />
        <ExportButton request={{ ...of, of: 'table' }} name={version.object_id} />
        <Button disabled={saving.isPending} onClick={() => saving.mutate('jsonl')}>
          Download JSONL
        </Button>
        <Button disabled={saving.isPending} onClick={() => saving.mutate('csv')}>
          Download CSV
        </Button>
      </div>
      {saving.error && <ErrorNote error={saving.error} />}
      {mayChange && (
        <ChangeRows
          project={project}
          version={version}
          selected={selected}
          onChanged={() => {
            select(new Set());
            onSearch({ tab: 'rows' });
          }}
        />
      )}
      {data.nodes.length === 0 ? (
        <NoRows search={search} />
      ) : (
        <RowGrid
          project={project}
          rows={data}
          first={(page - 1) * ROWS + 1}
          sources={sources}
          sort={sort}
          said={q}
          isBusy={rows.isPlaceholderData}
          selected={mayChange ? selected : undefined}
          onSelect={select}
          onSort={(by) => {
            const { page: _, ...rest } = search;
            onSearch({ ...rest, sort: by });
          }}
        />
      )}
    </div>
  );
}

const RowSearch = ({ search, onSearch }: Pick<VersionProps, 'search' | 'onSearch'>) => (
  <SearchBox
    label="Search rows"
    placeholder="Search what rows say"
    value={search.q}
    onSearch={(next) => {
      const { q: _, page: _page, ...rest } = search;
      onSearch(next === undefined ? rest : { ...rest, q: next });
    }}
  />
);

const NoRows = ({ search: { q, page } }: Pick<VersionProps, 'search'>) => (
  <EmptyState title={q === undefined ? 'No rows' : 'No row matches'}>
    <p>
      {q === undefined ? 'The table of this version has no rows' : 'No row says this'}
      {page !== undefined && ' on this page'}.
    </p>
  </EmptyState>
);

/** The number of rows that there are at least. A full page may have another one behind it. */
const knownRows = (page: number, { nodes }: TableRows) =>
  (page - 1) * ROWS + nodes.length + Number(nodes.length === ROWS);

/** Reads a page of a table, the number of all rows, and the sources of the page's rows. */
function useRows(
  of: { project_id: string; digest: string },
  objectId: string,
  search: VersionProps['search'],
) {
  const { page = 1, sort, q } = search;
  const searched = q === undefined ? of : { ...of, query: rowsSaying(q) };
  const total = useQuery(rowCountQuery(searched));
  const rows = useQuery(rowsQuery(searched, page, sort));
  const { data: sources } = useQuery(
    sourcesQuery(of.project_id, objectId, [...new Set(rows.data?.digests)].toSorted()),
  );
  return { total: total.data, rows, sources };
}

/** Downloads all rows in their own order. CSV needs the columns of all rows, so it reads the rows twice. */
async function saveAll(
  of: { project_id: string; digest: string },
  name: string,
  kind: 'csv' | 'jsonl',
): Promise<void> {
  const columns = new Set<string>();
  if (kind === 'csv')
    for await (const rows of readPages(of)) for (const one of columnNames(rows)) columns.add(one);
  const all = [...columns];
  const parts = kind === 'csv' ? [csvLine(all)] : [];
  for await (const rows of readPages(of))
    parts.push(kind === 'csv' ? csvLines(rows, all) : jsonLines(rows));
  downloadFile(name, new Blob(parts));
}

async function* readPages(of: { project_id: string; digest: string }) {
  for (let offset = 0; ; offset += SAVED_AT_ONCE) {
    const rows = await readRows({ ...of, limit: SAVED_AT_ONCE, offset });
    if (rows.nodes.length > 0) yield rows;
    if (rows.nodes.length < SAVED_AT_ONCE) return;
  }
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { RowPager } from '../ui/RowPager.tsx';
import { ChangeRows } from './ChangeRows.tsx';
import { rowCountQuery, ROWS, rowsQuery, sourcesQuery } from './queries.ts';
import type { VersionProps } from './search.ts';
import { RowGrid } from './RowGrid.tsx';
import { columnNames, csvLine, csvLines, jsonLines, readRows } from './rows.ts';
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
  const { page = 1, sort } = search;
  const of = { project_id: project, digest: table };
  const { total, rows, sources } = useRows(of, version.object_id, search);
  const { data, error } = rows;
  const saving = useMutation({
    mutationFn: (kind: 'csv' | 'jsonl') => saveAll(of, `${version.object_id}.${kind}`, kind),
  });
  if (error) return <ErrorRetry error={error} onRetry={() => void rows.refetch()} />;
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
        <RowPager total={total ?? 0} rowsPerPage={ROWS} page={page} onTurn={turn} />
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
        <EmptyState title="No rows">
          <p>The table of this version has no rows{page > 1 && ' on this page'}.</p>
        </EmptyState>
      ) : (
        <RowGrid
          project={project}
          rows={data}
          first={(page - 1) * ROWS + 1}
          sources={sources}
          sort={sort}
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

/** Reads a page of a table, the number of all rows, and the sources of the page's rows. */
function useRows(
  of: { project_id: string; digest: string },
  objectId: string,
  search: VersionProps['search'],
) {
  const { page = 1, sort } = search;
  const total = useQuery(rowCountQuery(of));
  const rows = useQuery(rowsQuery(of, page, sort));
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

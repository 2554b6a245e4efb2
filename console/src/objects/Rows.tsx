import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { visible } from '../json/visible.ts';
import { Button } from '../ui/Button.tsx';
import { Fault } from '../ui/Fault.tsx';
import { count } from '../ui/format.ts';
import { Empty, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import type { ShownProps } from './ObjectPage.tsx';
import { cellText, columnNames, csvLine, csvLines, jsonLines, readRows } from './rows.ts';
import { save } from '../ui/save.ts';
import styles from './objects.module.css';

const PAGE = 50;
const SAVED_AT_ONCE = 1000;
/** What is further right is in the value of the row only. */
const MOST_COLUMNS = 30;
const MOST_CHARACTERS = 300;

/** The rows of a dataset, page by page, in any order. */
export function Rows({
  project,
  version,
  search,
  onSearch,
  table,
}: ShownProps & { table: string }) {
  const { page = 1, sort } = search;
  const field = sort?.replace(/^-/, '');
  const order = field && {
    sort_by: [{ field, direction: sort!.startsWith('-') ? 'desc' : 'asc' }],
  };
  const of = { project_id: project, digest: table };
  const total = useQuery({
    queryKey: ['table', of],
    queryFn: async ({ signal }) => (await post('/table/query_stats', of, { signal })).count,
    staleTime: Infinity,
  });
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: ['table', of, page, sort],
    queryFn: ({ signal }) =>
      readRows({ ...of, limit: PAGE, offset: (page - 1) * PAGE, ...order }, signal),
    staleTime: Infinity,
    structuralSharing: false,
    placeholderData: keepPreviousData,
  });
  const saving = useMutation({
    mutationFn: (kind: 'csv' | 'jsonl') => saveAll(of, `${version.object_id}.${kind}`, kind),
  });
  if (error) return <Fault error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={12} />;
  const columns = columnNames(data, MOST_COLUMNS);
  const last = Math.max(1, Math.ceil((total.data ?? 0) / PAGE));
  const turn = (to: number) => {
    const { page: _, ...rest } = search;
    onSearch(to <= 1 ? rest : { ...rest, page: to });
  };
  return (
    <div className={styles['rows']}>
      <div className={styles['bar']}>
        <span role="status">
          {count(total.data)} rows{last > 1 && `, page ${page} of ${count(last)}`}
        </span>
        <Button disabled={page <= 1} onClick={() => turn(page - 1)}>
          Previous
        </Button>
        <Button disabled={page >= last} onClick={() => turn(page + 1)}>
          Next
        </Button>
        <span className={styles['space']} />
        <Button disabled={saving.isPending} onClick={() => saving.mutate('jsonl')}>
          Download JSONL
        </Button>
        <Button disabled={saving.isPending} onClick={() => saving.mutate('csv')}>
          Download CSV
        </Button>
      </div>
      {saving.error && <ErrorNote error={saving.error} />}
      {data.nodes.length === 0 ? (
        <Empty title="No rows">
          <p>The table of this version has none{page > 1 && ' on this page'}.</p>
        </Empty>
      ) : (
        <div
          className={styles['grid']}
          tabIndex={0}
          role="region"
          aria-label="Rows"
          aria-busy={isPlaceholderData}
        >
          <table>
            <thead>
              <tr>
                {columns.map((name) => (
                  <th key={name} scope="col" aria-sort={sortOrder(name, sort)}>
                    {name.includes('.') ? (
                      visible(name)
                    ) : (
                      <button
                        type="button"
                        className={styles['sort']}
                        onClick={() => {
                          const { page: _, ...rest } = search;
                          onSearch({ ...rest, sort: sort === name ? `-${name}` : name });
                        }}
                      >
                        {visible(name)}
                        {sort === name && ' ↑'}
                        {sort === `-${name}` && ' ↓'}
                      </button>
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.nodes.map((node) => (
                <tr key={node}>
                  {columns.map((name) => {
                    const cell = cellText(data, node, name);
                    return (
                      <td key={name} title={visible(cell.slice(0, MOST_CHARACTERS))}>
                        {visible(cell.slice(0, MOST_CHARACTERS))}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function sortOrder(name: string, sort: string | undefined) {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : undefined;
}

/** All rows in their own order. Columns of CSV are those of all rows, so it reads them twice. */
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
  save(name, new Blob(parts));
}

async function* readPages(of: { project_id: string; digest: string }) {
  for (let offset = 0; ; offset += SAVED_AT_ONCE) {
    const rows = await readRows({ ...of, limit: SAVED_AT_ONCE, offset });
    if (rows.nodes.length > 0) yield rows;
    if (rows.nodes.length < SAVED_AT_ONCE) return;
  }
}

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schema } from '../api/client.ts';
import { bytes, count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { usesQuery } from './queries.ts';
import styles from './projects.module.css';

type ScopeUse = Schema<'ScopeUseDto'>;

const REFRESH_MS = 15_000;

/** Shows admins which entities and projects use the service, and how far their quotas are used. */
export function UseToday() {
  const [sort, setSort] = useState('-requests');
  const { data, error } = useQuery({ ...usesQuery, refetchInterval: REFRESH_MS });
  if (error) return <ErrorNote error={error} />;
  if (!data || data.length === 0) return null;
  return (
    <section>
      <h2 className={styles['heading']}>Use today (UTC)</h2>
      <Table
        label="Use today"
        rows={data}
        rowKey={({ scope }) => scope}
        columns={COLUMNS}
        sort={sort}
        onSort={setSort}
      />
    </section>
  );
}

const numberColumn = (
  name: keyof Omit<ScopeUse, 'scope' | 'limits'>,
  title: string,
  format: (value: number) => string,
  limit?: keyof ScopeUse['limits'],
): TableColumn<ScopeUse> => ({
  name,
  title,
  isNumber: true,
  sortBy: (use) => use[name],
  cell: (use) => {
    const most = limit === undefined ? null : use.limits[limit];
    return most === null ? format(use[name]) : `${format(use[name])} of ${format(most)}`;
  },
});

const COLUMNS: TableColumn<ScopeUse>[] = [
  { name: 'scope', title: 'Scope', sortBy: ({ scope }) => scope, cell: ({ scope }) => scope },
  numberColumn('requests', 'Requests', count),
  {
    name: 'requests_per_minute',
    title: 'Most in a minute',
    isNumber: true,
    cell: ({ limits: { requests_per_minute: most } }) => (most === null ? '' : count(most)),
  },
  numberColumn('refused_requests', 'Refused', count),
  numberColumn('calls', 'Calls', count, 'calls_per_day'),
  numberColumn('received_bytes', 'Received', bytes),
  numberColumn('written_bytes', 'Written', bytes, 'written_bytes_per_day'),
  numberColumn('stored_bytes', 'Stored', bytes, 'stored_bytes'),
];

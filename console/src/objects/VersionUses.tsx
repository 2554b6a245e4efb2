import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { derivedSummary } from '../api/calls.ts';
import { callDuration, opName } from '../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Status } from '../ui/Status.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import type { VersionProps } from './search.ts';
import { MAX_USES, type Use, usesQuery, versionRef } from './queries.ts';
import styles from './objects.module.css';

/** Lists the newest calls that used the version as input, as output, or as op. */
export function VersionUses({ project, version }: VersionProps) {
  const [entity, name] = project.split('/') as [string, string];
  const ref = versionRef(project, version);
  const { data, error } = useQuery(usesQuery(project, ref, version.kind));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <Skeleton rows={8} />;
  if (data.length === 0)
    return (
      <EmptyState title="No call uses this version">
        <p>
          A call uses it when its inputs or its output have the ref <code>{ref}</code>.
        </p>
      </EmptyState>
    );
  const columns: TableColumn<Use>[] = [
    {
      name: 'call',
      title: 'Call',
      cell: ({ call }) => (
        <Link
          to="/p/$entity/$project/traces/$traceId"
          params={{ entity, project: name, traceId: call.trace_id }}
          search={{ call: call.id }}
          title={call.op_name}
        >
          {opName(call.op_name)}
        </Link>
      ),
    },
    { name: 'how', title: 'How', cell: ({ how }) => how },
    {
      name: 'status',
      title: 'Status',
      cell: ({ call }) => <Status status={derivedSummary(call).status} />,
    },
    {
      name: 'latency',
      title: 'Latency',
      isNumber: true,
      cell: ({ call }) => callDuration(derivedSummary(call)),
    },
    {
      name: 'started',
      title: 'Started',
      isNumber: true,
      cell: ({ call }) => <Time at={call.started_at} />,
    },
  ];
  return (
    <div className={styles['uses']} tabIndex={0} role="region" aria-label="Calls">
      <Table
        label="Used by"
        rows={data}
        rowKey={({ call, how }) => `${call.id} ${how}`}
        columns={columns}
        sort=""
        onSort={() => undefined}
      />
      {data.length >= MAX_USES && (
        <p className={styles['soft']}>The table shows the newest {MAX_USES} calls of each kind.</p>
      )}
    </div>
  );
}

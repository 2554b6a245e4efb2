import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type CallRow, derivedSummary } from '../api/calls.ts';
import { allLines, type Schema } from '../api/client.ts';
import { callDuration, opName } from '../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Status } from '../ui/Status.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import type { VersionProps } from './ObjectPage.tsx';
import { versionRef } from './versions.ts';
import styles from './objects.module.css';

const MAX_USES = 100;

interface Use {
  call: CallRow;
  how: string;
}

/** Lists the newest calls that used the version as input, as output, or as op. */
export function VersionUses({ project, version }: VersionProps) {
  const [entity, name] = project.split('/') as [string, string];
  const ref = versionRef(project, version);
  const { data, error } = useQuery({
    queryKey: ['uses', project, ref],
    queryFn: ({ signal }) => findUses(project, ref, version.kind, signal),
  });
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
        <p className={styles['soft']}>The newest {MAX_USES} of each kind.</p>
      )}
    </div>
  );
}

async function findUses(
  project_id: string,
  ref: string,
  kind: 'object' | 'op',
  signal: AbortSignal,
): Promise<Use[]> {
  const ways: [how: string, filter: Schema<'CallsFilterDto'>][] = [
    ['in its inputs', { input_refs: [ref] }],
    ['in its output', { output_refs: [ref] }],
  ];
  if (kind === 'op') ways.push(['runs it', { op_names: [ref] }]);
  const found = await Promise.all(
    ways.map(async ([how, filter]) => {
      const calls = await allLines(
        '/calls/stream_query',
        {
          project_id,
          filter,
          sort_by: [{ field: 'started_at', direction: 'desc' }],
          limit: MAX_USES,
          columns: ['summary', 'ended_at'],
        },
        signal,
      );
      return calls.map((call): Use => ({ call, how }));
    }),
  );
  return found
    .flat()
    .toSorted(({ call: a }, { call: b }) => (a.started_at < b.started_at ? 1 : -1));
}

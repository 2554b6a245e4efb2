import { Link } from '@tanstack/react-router';
import { type CallRow, callCost, derivedSummary, callTokens, callUser } from '../api/calls.ts';
import { count, duration, money, opName } from '../ui/format.ts';
import { Status } from '../ui/Status.tsx';
import { Thumb } from '../ui/Thumb.tsx';
import { Time } from '../ui/Time.tsx';
import type { Column } from '../ui/VirtualTable.tsx';
import styles from './traces.module.css';
import type { Remarks } from './useRemarks.ts';

/** The columns of the list. */
export function traceColumns(
  project: string,
  remarks: ReadonlyMap<string, Remarks>,
): Column<CallRow>[] {
  const [entity, name] = project.split('/') as [string, string];
  return [
    {
      name: 'status',
      title: <span className="visually-hidden">Status</span>,
      width: '14px',
      cell: (row) => <Status status={derivedSummary(row).status} isShort />,
    },
    {
      name: 'name',
      title: 'Name',
      width: 'minmax(140px, 1fr)',
      cell: (row) => (
        <Link
          to="/p/$entity/$project/traces/$traceId"
          params={{ entity, project: name, traceId: row.trace_id }}
          search={row.parent_id ? { call: row.id } : {}}
          title={row.op_name}
        >
          {derivedSummary(row).trace_name || opName(row.op_name)}
        </Link>
      ),
    },
    {
      name: 'latency',
      title: 'Latency',
      width: '74px',
      isNumber: true,
      cell: (row) => duration(derivedSummary(row).latency_ms),
    },
    { name: 'tokens', title: 'Tokens in → out', width: '106px', isNumber: true, cell: tokens },
    {
      name: 'cost',
      title: 'Cost',
      width: '72px',
      isNumber: true,
      cell: (row) => money(callCost(row)),
    },
    {
      name: 'feedback',
      title: 'Feedback',
      width: '68px',
      cell: (row) => <Feedback of={remarks.get(row.id)} />,
    },
    {
      name: 'user',
      title: 'User',
      width: '64px',
      cell: (row) => <span title={callUser(row) ?? ''}>{callUser(row)}</span>,
    },
    {
      name: 'thread',
      title: 'Thread',
      width: '92px',
      cell: (row) => <span title={row.thread_id ?? ''}>{row.thread_id}</span>,
    },
    {
      name: 'started',
      title: 'Started',
      width: '112px',
      cell: (row) => <Time at={row.started_at} />,
    },
  ];
}

/** Chooses rows, or all that are loaded. A click on it opens nothing. */
export function selectionColumn(
  rows: readonly CallRow[],
  selected: ReadonlySet<string>,
  onSelect: (selected: ReadonlySet<string>) => void,
): Column<CallRow> {
  const isAll = rows.length > 0 && rows.every(({ id }) => selected.has(id));
  return {
    name: 'selected',
    title: (
      <input
        type="checkbox"
        aria-label="Select all that are loaded"
        checked={isAll}
        onChange={() => onSelect(new Set(isAll ? [] : rows.map(({ id }) => id)))}
      />
    ),
    width: '18px',
    cell: ({ id, op_name }) => (
      <label className={styles['select']} onClick={(event) => event.stopPropagation()}>
        <input
          type="checkbox"
          aria-label={`Select ${opName(op_name)}`}
          checked={selected.has(id)}
          onChange={() => {
            const next = new Set(selected);
            if (!next.delete(id)) next.add(id);
            onSelect(next);
          }}
        />
      </label>
    ),
  };
}

function tokens(row: CallRow) {
  const sum = callTokens(row);
  return sum ? `${count(sum.input)} → ${count(sum.output)}` : '–';
}

function Feedback({ of }: { of: Remarks | undefined }) {
  if (!of) return null;
  return (
    <span className={styles['remarks']}>
      {of.up > 0 && (
        <span>
          <Thumb isUp label="Good" />
          {of.up > 1 && of.up}
        </span>
      )}
      {of.down > 0 && (
        <span>
          <Thumb isUp={false} label="Bad" />
          {of.down > 1 && of.down}
        </span>
      )}
      {of.others > 0 && <span title="Other remarks">✎{of.others > 1 && of.others}</span>}
    </span>
  );
}

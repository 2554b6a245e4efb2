import { Link } from '@tanstack/react-router';
import { type CallRow, callCost, derivedSummary, callTokens, shownUser } from '../api/calls.ts';
import { visible } from '../json/visible-text.ts';
import { callDuration, count, money, opName } from '../ui/format.ts';
import { RemarkCounts } from '../ui/RemarkCounts.tsx';
import { KindIcon, kindOf } from '../ui/KindIcon.tsx';
import { Tags } from '../ui/Tags.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import type { Column } from '../ui/VirtualTable.tsx';
import styles from './traces.module.css';
import type { Remarks } from '../api/remarks.ts';
import { columnTitle } from './column-names.ts';
import type { Sort } from './request.ts';
import type { CellDocuments, MatchCells } from './queries.ts';
import { isSmall } from './useDocuments.ts';

interface ColumnContext {
  project: string;
  remarks: ReadonlyMap<string, Remarks>;
  /** Values of path columns for the rows in view. */
  documents: CellDocuments;
  /** The texts that the filter searches in documents, and where the rows in view say them. */
  sought: string[];
  matches: MatchCells | undefined;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
}

/** Makes the columns of the list from names and paths. */
export function traceColumns(names: readonly string[], shown: ColumnContext): Column<CallRow>[] {
  const known = new Map(knownColumns(shown).map((column) => [column.name, column]));
  const columns = names.map((name) => known.get(name) ?? pathColumn(name, shown.documents));
  if (shown.sought.length === 0) return columns;
  return columns.toSpliced(names.indexOf('name') + 1 || columns.length, 0, matchColumn(shown));
}

/** A column with the place of the first searched text that a call says. */
const matchColumn = ({ matches }: ColumnContext): Column<CallRow> => ({
  name: 'match',
  title: 'Match',
  width: 'minmax(220px, 2fr)',
  cell: ({ id }) => matches?.get(id),
});

/** The state of a row's trace page. The row's call is selected when it is not the root, or when texts are searched. */
export const openedCall = ({ id, parent_id }: CallRow, sought: string[]) => ({
  ...((parent_id || sought.length > 0) && { call: id }),
  ...(sought.length > 0 && { said: sought }),
});

/** A column with the beginning of the value at a path. */
const pathColumn = (path: string, documents: CellDocuments): Column<CallRow> => ({
  name: path,
  title: columnTitle(path),
  width: 'minmax(160px, 1fr)',
  cell: (row) => {
    if (!isSmall(row)) return <em title="Open the call to see it">too large</em>;
    const text = documents.get(row.id)?.get(path);
    return text !== undefined && <span>{visible(text)}</span>;
  },
});

function knownColumns({
  project,
  remarks,
  sought,
  sort,
  onSort,
}: ColumnContext): Column<CallRow>[] {
  const [entity, name] = project.split('/') as [string, string];
  return [
    {
      name: 'model',
      title: 'Model',
      width: '130px',
      cell: (row) => {
        const models = Object.keys(row.summary?.['usage'] ?? {}).join(', ');
        return <span title={models}>{visible(models)}</span>;
      },
    },
    {
      name: 'op',
      title: 'Op',
      width: '150px',
      cell: (row) => <span title={row.op_name}>{visible(opName(row.op_name))}</span>,
    },
    {
      name: 'id',
      title: 'Id',
      width: '150px',
      cell: (row) => <code title={row.id}>{visible(row.id)}</code>,
    },
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
        <span className={styles['name']}>
          <KindIcon kind={kindOf(row.operation ?? null, false)} />
          <Link
            to="/p/$entity/$project/traces/$traceId"
            params={{ entity, project: name, traceId: row.trace_id }}
            search={openedCall(row, sought)}
            title={row.op_name}
          >
            {visible(derivedSummary(row).trace_name || opName(row.op_name))}
          </Link>
        </span>
      ),
    },
    {
      name: 'latency',
      title: <SortLatency sort={sort} onSort={onSort} />,
      width: '74px',
      isNumber: true,
      cell: (row) => callDuration(derivedSummary(row)),
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
      cell: (row) => <RemarkCounts of={remarks.get(row.id)} />,
    },
    {
      name: 'tags',
      title: 'Tags',
      width: '160px',
      cell: (row) => <Tags of={remarks.get(row.id)?.tags} />,
    },
    {
      name: 'user',
      title: 'User',
      width: '64px',
      cell: (row) => <span title={shownUser(row)}>{visible(shownUser(row))}</span>,
    },
    {
      name: 'thread',
      title: 'Thread',
      width: '92px',
      cell: (row) => <span title={row.thread_id ?? ''}>{visible(row.thread_id ?? '')}</span>,
    },
    {
      name: 'started',
      title: 'Started',
      width: '112px',
      cell: (row) => <Time at={row.started_at} />,
    },
  ];
}

/** Cycles through the orders: by time, slowest first, quickest first. */
const SortLatency = ({ sort, onSort }: Pick<ColumnContext, 'sort' | 'onSort'>) => (
  <button
    type="button"
    className={styles['sort']}
    aria-label="Sort by latency"
    aria-pressed={sort !== undefined}
    onClick={() =>
      onSort(sort === undefined ? '-latency' : sort === '-latency' ? 'latency' : undefined)
    }
  >
    Latency{sort && (sort === 'latency' ? ' ↑' : ' ↓')}
  </button>
);

/** A column of checkboxes for single rows and for all loaded rows. A click on one opens no trace. */
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

import type { ReactNode } from 'react';
import styles from './plain-table.module.css';

export interface TableColumn<T> {
  name: string;
  title: string;
  isNumber?: boolean;
  /** The value to sort by; without it the column cannot be sorted. Null comes last. */
  sortBy?: (row: T) => number | string | null;
  cell: (row: T) => ReactNode;
}

/** The name of a column; `-` before it means descending. */
export type Sort = string;

/** Shows rows that are all loaded, in an order that the reader chooses. */
export function Table<T>({
  label,
  rows,
  rowKey,
  columns,
  sort,
  onSort,
}: {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  columns: readonly TableColumn<T>[];
  sort: Sort;
  onSort: (sort: Sort) => void;
}) {
  return (
    // focusable, because narrow windows scroll it sideways
    <div className={styles['scroll']} tabIndex={0} role="group" aria-label={label}>
      <table className={styles['table']} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ name, title, isNumber, sortBy }) => (
              <th
                key={name}
                scope="col"
                className={isNumber ? styles['number'] : undefined}
                aria-sort={sortOrder(name, sort)}
              >
                {sortBy ? (
                  <button type="button" onClick={() => onSort(nextSort(name, sort, isNumber))}>
                    {title}
                  </button>
                ) : (
                  title || <span className="visually-hidden">Actions</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, columns, sort).map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ name, isNumber, cell }) => (
                <td key={name} className={isNumber ? styles['number'] : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sortOrder(name: string, sort: Sort) {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : undefined;
}

/** The order after a click. Numbers begin with the largest. */
const nextSort = (name: string, sort: Sort, isNumber?: boolean): Sort => {
  if (sort === name) return `-${name}`;
  if (sort === `-${name}`) return name;
  return isNumber ? `-${name}` : name;
};

function sorted<T>(rows: readonly T[], columns: readonly TableColumn<T>[], sort: Sort): T[] {
  const isDown = sort.startsWith('-');
  const sortBy = columns.find(({ name }) => name === sort.replace(/^-/, ''))?.sortBy;
  if (!sortBy) return [...rows];
  return rows.toSorted((one, other) => {
    const [a, b] = [sortBy(one), sortBy(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a === b ? 0 : a < b === isDown ? 1 : -1;
  });
}

import { MarkedText } from '../json/MarkedText.tsx';
import { cutToSay } from '../json/said-text.ts';
import { visible } from '../json/visible-text.ts';
import type { RowSource } from './queries.ts';
import { cellText, columnNames, type TableRows } from './rows.ts';
import { RowSources } from './RowSources.tsx';
import styles from './objects.module.css';

/** Columns that are shown. The remaining ones are visible in the value of the row only. */
const MOST_COLUMNS = 30;
const MOST_CHARACTERS = 300;

export function RowGrid({
  project,
  rows,
  first,
  sources,
  sort,
  said,
  isBusy,
  selected,
  onSelect,
  onSort,
}: {
  project: string;
  rows: TableRows;
  /** The number of the first row, counted from 1. */
  first: number;
  sources: ReadonlyMap<string, RowSource[]> | undefined;
  sort: string | undefined;
  /** A text that is marked. */
  said: string | undefined;
  isBusy: boolean;
  /** Digests of the selected rows; undefined when rows cannot be selected. */
  selected: ReadonlySet<string> | undefined;
  onSelect: (selected: ReadonlySet<string>) => void;
  onSort: (sort: string) => void;
}) {
  const columns = columnNames(rows, MOST_COLUMNS);
  const marked = said === undefined ? [] : [said];
  const hasSources = sources !== undefined && sources.size > 0;
  const toggle = (digest: string) => {
    const next = new Set(selected);
    if (!next.delete(digest)) next.add(digest);
    onSelect(next);
  };
  return (
    <div className={styles['grid']} tabIndex={0} role="region" aria-label="Rows" aria-busy={isBusy}>
      <table>
        <thead>
          <tr>
            {selected && (
              <th scope="col">
                <span className="visually-hidden">Selected</span>
              </th>
            )}
            {columns.map((name) => (
              <th key={name} scope="col" aria-sort={sortOrder(name, sort)}>
                {name.includes('.') ? (
                  <MarkedText text={visible(name)} marked={marked} />
                ) : (
                  <button
                    type="button"
                    className={styles['sort']}
                    onClick={() => onSort(sort === name ? `-${name}` : name)}
                  >
                    <MarkedText text={visible(name)} marked={marked} />
                    {sort === name && ' ↑'}
                    {sort === `-${name}` && ' ↓'}
                  </button>
                )}
              </th>
            ))}
            {hasSources && <th scope="col">Made from</th>}
          </tr>
        </thead>
        <tbody>
          {rows.nodes.map((node, n) => (
            <tr key={node}>
              {selected && (
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Select the row ${first + n}`}
                    checked={selected.has(rows.digests[n]!)}
                    onChange={() => toggle(rows.digests[n]!)}
                  />
                </td>
              )}
              {columns.map((name) => {
                const cell = visible(cutToSay(cellText(rows, node, name), said, MOST_CHARACTERS));
                return (
                  <td key={name} title={cell}>
                    <MarkedText text={cell} marked={marked} />
                  </td>
                );
              })}
              {hasSources && (
                <td>
                  <RowSources project={project} sources={sources.get(rows.digests[n]!)} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sortOrder(name: string, sort: string | undefined) {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : undefined;
}

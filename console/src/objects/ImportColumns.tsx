import type { Schema } from '../api/client.ts';
import { inputClass } from '../ui/Field.tsx';
import { FirstRows } from '../ui/FirstRows.tsx';
import { count } from '../ui/format.ts';
import { visible } from '../json/visible-text.ts';
import type { ColumnType, Mapping } from './import-file.ts';
import { cellText, columnNames, type TableRows } from './rows.ts';
import styles from './objects.module.css';

/** Columns that can be changed here. The others keep their names. */
const MOST_COLUMNS = 50;
const MOST_CHARACTERS = 300;
const TYPES = ['text', 'number', 'boolean', 'json'] as const satisfies ColumnType[];

export function ImportColumns({
  columns,
  isCsv,
  mapping,
  onChange,
}: {
  columns: readonly Schema<'FileColumnDto'>[];
  isCsv: boolean;
  mapping: Mapping;
  onChange: (mapping: Mapping) => void;
}) {
  return (
    <fieldset className={styles['inner']}>
      <legend>Columns, each with its path in a row and its type</legend>
      {columns.slice(0, MOST_COLUMNS).map(({ name }) => {
        const mapped = mapping[name] === undefined ? {} : mapping[name];
        const shown = visible(name);
        const set = (next: Mapping[string]) => onChange({ ...mapping, [name]: next });
        return (
          <div key={name} className={styles['column']}>
            <label>
              <input
                type="checkbox"
                checked={mapped !== null}
                onChange={({ target }) => set(target.checked ? {} : null)}
              />{' '}
              {shown}
            </label>
            <input
              className={inputClass}
              aria-label={`Path of ${shown}`}
              disabled={mapped === null}
              value={mapped?.path ?? ''}
              placeholder={shown}
              maxLength={1000}
              onChange={({ target }) => {
                const { path: _, ...rest } = mapped!;
                set(target.value === '' ? rest : { ...rest, path: target.value });
              }}
            />
            <select
              className={inputClass}
              aria-label={`Type of ${shown}`}
              disabled={mapped === null}
              value={mapped?.type ?? ''}
              onChange={({ target }) => {
                const { type: _, ...rest } = mapped!;
                const type = target.value as ColumnType | '';
                set(type === '' ? rest : { ...rest, type });
              }}
            >
              <option value="">{isCsv ? 'text' : 'as it is'}</option>
              {TYPES.slice(isCsv ? 1 : 0).map((type) => (
                <option key={type}>{type}</option>
              ))}
            </select>
          </div>
        );
      })}
      {columns.length > MOST_COLUMNS && (
        <p>{count(columns.length - MOST_COLUMNS)} more columns keep their names.</p>
      )}
    </fieldset>
  );
}

export function PreviewRows({ rows }: { rows: TableRows }) {
  const names = columnNames(rows, MOST_COLUMNS);
  const cells = rows.nodes.map((node) =>
    names.map((name) => visible(cellText(rows, node, name).slice(0, MOST_CHARACTERS))),
  );
  return <FirstRows names={names.map(visible)} rows={cells} />;
}

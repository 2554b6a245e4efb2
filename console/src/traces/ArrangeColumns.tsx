import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { columnTitle, COLUMNS, DEFAULT_COLUMNS, isPath, MOST_COLUMNS } from './column-names.ts';
import styles from './traces.module.css';

export function ArrangeColumns({
  chosen,
  onChoose,
  onClose,
}: {
  chosen: readonly string[];
  /** Called with undefined for the default columns. */
  onChoose: (columns: string[] | undefined) => void;
  onClose: () => void;
}): ReactNode {
  const [columns, set] = useState(chosen);
  const [path, setPath] = useState('');
  const others = Object.keys(COLUMNS).filter((name) => !columns.includes(name));
  const move = (at: number, by: number) => {
    const next = [...columns];
    const [moved] = next.splice(at, 1);
    next.splice(at + by, 0, moved!);
    set(next);
  };
  const add = (event: FormEvent) => {
    event.preventDefault();
    set([...columns.filter((one) => one !== path.trim()), path.trim()]);
    setPath('');
  };
  return (
    <Dialog title="Columns" isOpen onClose={onClose}>
      <ol className={styles['views']} aria-label="Columns in their order">
        {columns.map((name, at) => (
          <li key={name}>
            <span>{columnTitle(name)}</span>
            <Button
              look="quiet"
              aria-label={`Move ${columnTitle(name)} left`}
              disabled={at === 0}
              onClick={() => move(at, -1)}
            >
              ↑
            </Button>
            <Button
              look="quiet"
              aria-label={`Move ${columnTitle(name)} right`}
              disabled={at === columns.length - 1}
              onClick={() => move(at, 1)}
            >
              ↓
            </Button>
            <Button
              look="quiet"
              aria-label={`Remove ${columnTitle(name)}`}
              disabled={columns.length === 1}
              onClick={() => set(columns.filter((one) => one !== name))}
            >
              ×
            </Button>
          </li>
        ))}
      </ol>
      <p className={styles['offered']}>
        {others.map((name) => (
          <Button
            key={name}
            disabled={columns.length >= MOST_COLUMNS}
            onClick={() => set([...columns, name])}
          >
            + {columnTitle(name)}
          </Button>
        ))}
      </p>
      <form className={styles['saveView']} onSubmit={add}>
        <Field
          label="Path into the documents of a call"
          placeholder="inputs.customer.plan"
          value={path}
          isInvalid={path.trim() !== '' && !isPath(path.trim())}
          hint="A path begins with inputs, output, attributes or summary."
          onChange={({ target }) => setPath(target.value)}
        />
        <Button type="submit" disabled={!isPath(path.trim()) || columns.length >= MOST_COLUMNS}>
          Add column
        </Button>
      </form>
      <DialogActions>
        <Button onClick={() => onChoose(undefined)} disabled={columns === DEFAULT_COLUMNS}>
          Reset columns
        </Button>
        <Button look="primary" onClick={() => onChoose([...columns])}>
          Apply{' '}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

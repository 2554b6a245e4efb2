import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { costText, perToken } from './price.ts';
import styles from './metrics.module.css';

const PRICES = [
  { name: 'input', label: 'Input', isNeeded: true },
  { name: 'output', label: 'Output', isNeeded: true },
  { name: 'cacheRead', label: 'Read from a cache', isNeeded: false },
  { name: 'cacheCreation', label: 'Written to a cache', isNeeded: false },
] as const;

const isBad = (text: string) => text !== '' && perToken(text) === null;

/** Edits the prices of a model for a million tokens, which is how vendors quote them. */
export function PriceForm({
  project,
  model,
  onClose,
}: {
  project: string;
  model: string;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [typed, type] = useState({ input: '', output: '', cacheRead: '', cacheCreation: '' });
  const [unit, setUnit] = useState('USD');
  const [day, setDay] = useState('');
  const save = useMutation({
    mutationFn: (body: string) => send('POST', '/cost/create', { body }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.stats(project) });
      onClose();
    },
  });
  const body = costText(project, {
    model,
    ...typed,
    unit: unit.trim(),
    effectiveDate: (day === '' ? new Date(0) : new Date(`${day}T00:00:00`)).toISOString(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (body !== null) save.mutate(body);
  };
  return (
    <Dialog title="Set the price" isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['prices']}>
        <p className={styles['model']}>{model}</p>
        <p className={styles['soft']}>Prices are for a million tokens.</p>
        <div className={styles['fields']}>
          {PRICES.map(({ name, label, isNeeded }) => (
            <Field
              key={name}
              label={label}
              inputMode="decimal"
              placeholder={isNeeded ? '2.50' : 'same as input'}
              value={typed[name]}
              onChange={({ target }) => type({ ...typed, [name]: target.value.trim() })}
              isInvalid={isBad(typed[name])}
              hint={isBad(typed[name]) && 'Write a number with a point, such as 2.50.'}
              required={isNeeded}
            />
          ))}
          <Field
            label="Unit"
            value={unit}
            maxLength={64}
            onChange={({ target }) => setUnit(target.value)}
          />
          <Field
            label="For calls from this day on"
            type="date"
            value={day}
            onChange={({ target }) => setDay(target.value)}
            hint="If empty, the price is for all calls, also earlier ones."
          />
        </div>
        {save.error && <ErrorNote error={save.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={body === null || unit.trim() === '' || save.isPending}
          >
            Save the price
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

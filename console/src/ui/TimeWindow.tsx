import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from './Button.tsx';
import { Dialog, DialogActions } from './Dialog.tsx';
import { Field } from './Field.tsx';

const HOUR_MS = 3_600_000;

/** A time in the viewer's time zone, as an input of type `datetime-local` takes it. */
function boxTime(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function TimeWindow({
  from,
  to,
  onChoose,
  onClose,
}: {
  from: string | undefined;
  to: string | undefined;
  onChoose: (window: { from: string; to: string }) => void;
  onClose: () => void;
}): ReactNode {
  const [begin, setBegin] = useState(boxTime(from ? Date.parse(from) : Date.now() - HOUR_MS));
  const [end, setEnd] = useState(boxTime(to ? Date.parse(to) : Date.now()));
  const isWindow = Date.parse(begin) < Date.parse(end);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChoose({ from: new Date(begin).toISOString(), to: new Date(end).toISOString() });
  };
  return (
    <Dialog title="Custom time range" isOpen onClose={onClose}>
      <form onSubmit={submit}>
        <Field
          label="From"
          type="datetime-local"
          value={begin}
          onChange={({ target }) => setBegin(target.value)}
        />
        <Field
          label="To"
          type="datetime-local"
          value={end}
          isInvalid={!isWindow}
          hint={isWindow ? 'In your time zone.' : 'The end must be later than the start.'}
          onChange={({ target }) => setEnd(target.value)}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!isWindow}>
            Show
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

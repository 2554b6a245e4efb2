import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import { faultAt, isElsewhere, type NewHold } from './queries.ts';
import styles from './retention.module.css';

const PARTS = {
  project: 'the whole project: nothing of it is erased',
  trace_id: 'a trace: its calls and their feedback',
  thread_id: 'a thread: its calls, their traces and their feedback',
};

const FIELDS = ['name', 'trace_id', 'thread_id', 'reason'];

export function PlaceHold({ project, onClose }: { project: string; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [part, setPart] = useState<keyof typeof PARTS>('project');
  const [held, setHeld] = useState('');
  const [reason, setReason] = useState('');
  const place = useMutation({
    mutationFn: (body: NewHold) => post('/retention/hold', body),
    onSuccess: (policy) => {
      client.setQueryData(keys.retention(project), policy);
      onClose();
    },
  });
  const fault = (path: string, hint = '') => ({
    isInvalid: faultAt(place.error, path) !== undefined,
    hint: faultAt(place.error, path) ?? hint,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    place.mutate({
      project_id: project,
      name: name.trim(),
      reason: reason.trim() || null,
      ...(part !== 'project' && { [part]: held }),
    });
  };
  return (
    <Dialog title="Place a hold" isOpen onClose={onClose}>
      <form className={styles['form']} onSubmit={submit}>
        <Field
          label="Name"
          placeholder="the number of a case"
          value={name}
          onChange={({ target }) => setName(target.value)}
          {...fault('name', 'Refused deletions and the audit name it.')}
        />
        <SelectField
          label="Hold"
          value={part}
          options={Object.entries(PARTS)}
          onChoose={(chosen) => setPart(chosen as typeof part)}
        />
        {part !== 'project' && (
          <Field
            label={part === 'trace_id' ? 'Id of the trace' : 'Id of the thread'}
            value={held}
            onChange={({ target }) => setHeld(target.value)}
            {...fault(part)}
          />
        )}
        <Field
          label="Reason"
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          {...fault('reason', 'Everybody who may read the project sees it.')}
        />
        {isElsewhere(place.error, FIELDS) && <ErrorNote error={place.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={place.isPending}>
            Place the hold
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

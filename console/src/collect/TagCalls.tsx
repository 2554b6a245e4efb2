import { useMutation, useQueryClient } from '@tanstack/react-query';
import { keys } from '../api/keys.ts';
import { type FormEvent, useId, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { visible } from '../json/visible-text.ts';
import styles from './collect.module.css';
import { addTag, removeTag, seenTags, tagFault } from './tags.ts';

export function TagCalls({
  project,
  callIds,
  onClose,
}: {
  project: string;
  callIds: readonly string[];
  onClose: () => void;
}) {
  const id = useId();
  const client = useQueryClient();
  const [text, setText] = useState('');
  const calls = `${count(callIds.length)} ${callIds.length === 1 ? 'call' : 'calls'}`;
  const change = useMutation({
    mutationFn: async ({ tag, isAdded }: { tag: string; isAdded: boolean }) => {
      await (isAdded ? addTag : removeTag)(project, callIds, tag);
      return `${isAdded ? 'Added to' : 'Removed from'} ${calls}: ${tag}`;
    },
    onSuccess: () => setText(''),
    // after a failure some of the calls may have the tag
    onSettled: () =>
      Promise.all(
        [keys.remarks(), keys.traces()].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
  const tag = text.trim();
  const fault = tagFault(tag);
  const isReady = tag !== '' && fault === undefined && !change.isPending;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) change.mutate({ tag, isAdded: true });
  };
  return (
    <Dialog title={`Tag ${calls}`} isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        <Field
          label="Tag"
          list={`${id}-seen`}
          value={text}
          isInvalid={fault !== undefined}
          hint={fault ?? 'The column Tags shows the tag, and the filter tag= finds its calls.'}
          onChange={({ target }) => setText(target.value)}
        />
        <datalist id={`${id}-seen`}>
          {seenTags(client, project).map((seen) => (
            <option key={seen} value={seen} />
          ))}
        </datalist>
        <p role="status">{change.data && visible(change.data)}</p>
        {change.error && <ErrorNote error={change.error} />}
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
          <Button disabled={!isReady} onClick={() => change.mutate({ tag, isAdded: false })}>
            Remove
          </Button>
          <Button type="submit" look="primary" disabled={!isReady}>
            Add
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

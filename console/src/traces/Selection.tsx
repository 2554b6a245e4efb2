import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { post, send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Collect } from '../collect/Collect.tsx';
import { TagCalls } from '../collect/TagCalls.tsx';
import { idBatches } from '../collect/tags.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { downloadFile } from '../ui/download.ts';
import styles from './traces.module.css';

/** Offers the actions on selected rows. Its code is loaded with the first selection. */
export function Selection({
  project,
  selected,
  onClear,
}: {
  project: string;
  selected: ReadonlySet<string>;
  onClear: () => void;
}): ReactNode {
  const ids = [...selected];
  const [asked, ask] = useState<'delete' | 'tag'>();
  const exported = useMutation({
    mutationFn: async () => {
      const lines: Blob[] = [];
      for (const call_ids of idBatches(ids)) {
        const body = { project_id: project, filter: { call_ids }, include_costs: true };
        lines.push(await (await send('POST', '/calls/stream_query', { body })).blob());
      }
      downloadFile(`${project.replace('/', '-')}-calls.jsonl`, new Blob(lines));
    },
  });
  return (
    <div className={styles['bar']} role="region" aria-label="Selection">
      <span role="status" className={styles['selected']}>
        {count(selected.size)} selected
      </span>
      <Button onClick={() => ask('tag')}>Tag</Button>
      <Collect project={project} callIds={ids} />
      <Button disabled={exported.isPending} onClick={() => exported.mutate()}>
        Export as JSONL
      </Button>
      <Button look="danger" onClick={() => ask('delete')}>
        Delete
      </Button>
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
      {exported.error && <ErrorNote error={exported.error} />}
      {asked === 'tag' && (
        <TagCalls project={project} callIds={ids} onClose={() => ask(undefined)} />
      )}
      {asked === 'delete' && (
        <DeleteCalls project={project} ids={ids} onClose={() => ask(undefined)} onDone={onClear} />
      )}
    </div>
  );
}

function DeleteCalls({
  project,
  ids,
  onClose,
  onDone,
}: {
  project: string;
  ids: string[];
  onClose: () => void;
  onDone: () => void;
}) {
  const client = useQueryClient();
  const removed = useMutation({
    mutationFn: async () => {
      for (const call_ids of idBatches(ids))
        await post('/calls/delete', { project_id: project, call_ids });
    },
    onSuccess: async () => {
      onClose();
      onDone();
      await client.invalidateQueries({ queryKey: keys.traces() });
    },
  });
  return (
    <Dialog
      title={`Delete ${count(ids.length)} ${ids.length === 1 ? 'call' : 'calls'}?`}
      isOpen
      onClose={onClose}
    >
      <p>
        All calls below them are deleted too. Feedback and costs stay. Nobody can see the calls
        again.
      </p>
      {removed.error && <ErrorNote error={removed.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={removed.isPending} onClick={() => removed.mutate()}>
          Delete
        </Button>
      </DialogActions>
    </Dialog>
  );
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Queue } from '../api/annotation.ts';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import {
  isWholeQueue,
  NEW_QUEUE,
  queueBody,
  type QueueDraft,
  QueueFields,
} from '../collect/QueueFields.tsx';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { changeQueue } from './queries.ts';
import styles from './annotation.module.css';

/** Creates a queue, or edits its name, description and questions. */
export function EditQueue({
  project,
  queue,
  onClose,
}: {
  project: string;
  queue: Queue | undefined;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<QueueDraft>(
    queue
      ? { name: queue.name, description: queue.description, refs: queue.scorer_refs }
      : NEW_QUEUE,
  );
  const save = useMutation({
    mutationFn: async () => {
      const body = queueBody(draft);
      if (queue) await changeQueue(project, queue.id, body);
      else await post('/annotation_queues', { project_id: project, ...body });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.queues(project) });
      if (queue) await client.invalidateQueries({ queryKey: keys.queue(project, queue.id) });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog title={queue ? 'Edit queue' : 'New queue'} isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['dialog']}>
        <QueueFields project={project} draft={draft} onChange={setDraft} />
        {save.error && <ErrorNote error={save.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!isWholeQueue(draft) || save.isPending}>
            {queue ? 'Save' : 'Create queue'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { keys } from '../api/keys.ts';
import type { Queue } from '../api/annotation.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { deleteQueue } from './queries.ts';

export function DeleteQueue({
  project,
  queue,
  total,
  onClose,
}: {
  project: string;
  queue: Queue;
  total: number | undefined;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteQueue(project, queue.id),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.queues(project) });
      onClose();
    },
  });
  return (
    <Dialog title={`Delete ${visible(queue.name)}?`} isOpen onClose={onClose}>
      <p>
        Nobody can judge its {count(total)} items any more. Its calls and the feedback on them stay.
        This cannot be undone.
      </p>
      {remove.error && <ErrorNote error={remove.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          Delete the queue
        </Button>
      </DialogActions>
    </Dialog>
  );
}

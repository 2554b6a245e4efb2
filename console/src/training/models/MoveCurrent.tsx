import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { post } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { Button } from '../../ui/Button.tsx';
import { Dialog, DialogActions } from '../../ui/Dialog.tsx';
import { ErrorNote } from '../../ui/Notice.tsx';

/** Makes a step the current one without a gate, after a confirmation. */
export function MoveCurrent({
  entity,
  project,
  modelId,
  step,
  children,
}: {
  entity: string;
  project: string;
  modelId: string;
  step: number;
  /** The label of the button. */
  children: ReactNode;
}) {
  const project_id = `${entity}/${project}`;
  const client = useQueryClient();
  const [isAsking, ask] = useState(false);
  const move = useMutation({
    mutationFn: () =>
      post('/models/promote', { project_id, model_id: modelId, step, by_hand: true }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.aliases(project_id, modelId) });
      ask(false);
    },
  });
  return (
    <>
      <Button onClick={() => ask(true)}>{children}</Button>
      <Dialog title={`Make step ${step} current?`} isOpen={isAsking} onClose={() => ask(false)}>
        <p>
          No gate is checked. From now on, step {step} answers requests for the model as{' '}
          <code>:current</code>, where it is served. The audit records the move.
        </p>
        {move.error && <ErrorNote error={move.error} />}
        <DialogActions>
          <Button onClick={() => ask(false)}>Cancel</Button>
          <Button look="danger" disabled={move.isPending} onClick={() => move.mutate()}>
            Make it current
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}

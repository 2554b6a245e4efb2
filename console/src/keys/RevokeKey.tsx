import { useMutation, useQueryClient } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import type { Key } from './key.ts';

export function RevokeKey({
  keyToEnd: { id, user, hint },
  isOwn,
  onClose,
}: {
  keyToEnd: Key;
  isOwn: boolean;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => post('/keys/revoke', { id }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.apiKeys() });
      onClose();
    },
  });
  return (
    <Dialog title={`Revoke the key of ${user}?`} isOpen onClose={onClose}>
      <p>
        The key that begins with <code>{hint}</code> stops working everywhere within 5 seconds, and
        so do its sessions. This cannot be undone.
      </p>
      {isOwn && (
        <p>
          <strong>You are signed in with this key. Revoking it signs you out.</strong>
        </p>
      )}
      {revoke.error && <ErrorNote error={revoke.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke the key
        </Button>
      </DialogActions>
    </Dialog>
  );
}

import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { DEMO_PROJECT } from './demo-project.ts';

export function EraseDemo({
  isBusy,
  error,
  onErase,
  onClose,
}: {
  isBusy: boolean;
  error: Error | null;
  onErase: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog title={`Remove ${DEMO_PROJECT}?`} isOpen onClose={onClose}>
      <p>This erases the whole project for good, with everything that was recorded in it.</p>
      {error && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={isBusy} onClick={onErase}>
          Erase the project
        </Button>
      </DialogActions>
    </Dialog>
  );
}

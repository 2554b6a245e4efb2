import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { DEMO_PROJECT } from './demo-project.ts';

/** Asks before the demo data is erased. */
export const RemoveDemo = ({
  error,
  isBusy,
  onClose,
  onRemove,
}: {
  error: Error | null;
  isBusy: boolean;
  onClose: () => void;
  onRemove: () => void;
}) => (
  <Dialog title={`Remove ${DEMO_PROJECT}?`} isOpen onClose={onClose}>
    <p>The whole project is erased for good, with everything that was recorded in it.</p>
    {error && <ErrorNote error={error} />}
    <DialogActions>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="danger" disabled={isBusy} onClick={onRemove}>
        Erase the project
      </Button>
    </DialogActions>
  </Dialog>
);

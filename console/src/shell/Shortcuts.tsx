import type { ReactNode } from 'react';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { SHORTCUTS } from './commands.ts';
import styles from './shell.module.css';

export const Shortcuts = ({ onClose }: { onClose: () => void }): ReactNode => (
  <Dialog title="Keyboard shortcuts" isOpen onClose={onClose}>
    <dl className={styles['keys']}>
      {SHORTCUTS.map(([keys, does]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
    <DialogActions>
      <Button onClick={onClose}>Close</Button>
    </DialogActions>
  </Dialog>
);

import { lazy, Suspense, useState } from 'react';
import styles from './shell.module.css';

const load = () => import('./ProjectDialog.tsx');
const ProjectDialog = lazy(() => load().then((module) => ({ default: module.ProjectDialog })));

/**
 * Shows the current project and opens the choice of another. The dialog is loaded when the button is focused or pointed
 * at.
 */
export function ProjectSwitch({ current }: { current: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className={styles['switch']}
        aria-haspopup="dialog"
        title={current}
        onPointerEnter={() => void load()}
        onFocus={() => void load()}
        onClick={() => setOpen(true)}
      >
        <span>{current ?? 'Choose a project'}</span>
        <i aria-hidden="true">▾</i>
      </button>
      {isOpen && (
        <Suspense fallback={null}>
          <ProjectDialog current={current} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

import { lazy, Suspense, useState } from 'react';
import styles from './shell.module.css';

const load = () => import('./ProjectDialog.tsx');
const ProjectDialog = lazy(() => load().then((module) => ({ default: module.ProjectDialog })));

/** The project that is looked at; it opens the choice of others, which is loaded when it is about to be wanted. */
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

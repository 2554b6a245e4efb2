import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';

const Palette = lazy(() => import('./Palette.tsx').then((module) => ({ default: module.Palette })));
const Shortcuts = lazy(() =>
  import('./Shortcuts.tsx').then((module) => ({ default: module.Shortcuts })),
);

const isBox = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, textarea, select');

/** Handles the keys that work on every page, and opens the palette or the help. A button opens the palette too. */
export function Keyboard({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }): ReactNode {
  const [shown, show] = useState<'palette' | 'help'>();
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const isPalette = event.key === 'k' && (event.metaKey || event.ctrlKey);
      const isHelp = event.key === '?' && !isBox(event.target);
      if (!isPalette && !isHelp) return;
      show(isPalette ? 'palette' : 'help');
      event.preventDefault();
    };
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
  const close = () => {
    show(undefined);
    onClose();
  };
  return (
    <Suspense fallback={null}>
      {(shown === 'palette' || (isOpen && shown === undefined)) && (
        <Palette onClose={close} onHelp={() => setTimeout(() => show('help'))} />
      )}
      {shown === 'help' && <Shortcuts onClose={close} />}
    </Suspense>
  );
}

import { lazy, Suspense, useState } from 'react';
import { Button } from './Button.tsx';
import type { ExportedList } from './ExportAll.tsx';

const ExportAll = lazy(() =>
  import('./ExportAll.tsx').then((module) => ({ default: module.ExportAll })),
);

/** Opens the dialog that saves all rows of a list. */
export function ExportButton(list: ExportedList) {
  const [isOpen, open] = useState(false);
  return (
    <>
      <Button onClick={() => open(true)}>Export</Button>
      {isOpen && (
        <Suspense fallback={null}>
          <ExportAll {...list} onClose={() => open(false)} />
        </Suspense>
      )}
    </>
  );
}

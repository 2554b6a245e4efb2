import { lazy, Suspense, useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';

const ImportFile = lazy(() =>
  import('./ImportFile.tsx').then((module) => ({ default: module.ImportFile })),
);

/** Opens the import of a file, into the dataset `objectId` or another one. A reader does not see it. */
export function ImportButton({
  label,
  ...to
}: {
  label: string;
  project: string;
  objectId?: string;
}) {
  const me = useMe();
  const [isOpen, open] = useState(false);
  if (!mayActAs(me, 'writer', to.project)) return null;
  return (
    <>
      <Button onClick={() => open(true)}>{label}</Button>
      <Suspense fallback={null}>
        {isOpen && <ImportFile {...to} onClose={() => open(false)} />}
      </Suspense>
    </>
  );
}

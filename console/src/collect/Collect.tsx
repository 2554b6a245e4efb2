import { lazy, Suspense, useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import styles from './collect.module.css';

const AddToQueue = lazy(() =>
  import('./AddToQueue.tsx').then((module) => ({ default: module.AddToQueue })),
);
const AddToDataset = lazy(() =>
  import('./AddToDataset.tsx').then((module) => ({ default: module.AddToDataset })),
);

export function Collect({ project, callIds }: { project: string; callIds: readonly string[] }) {
  const me = useMe();
  const [to, choose] = useState<'queue' | 'dataset'>();
  if (!mayActAs(me, 'writer', project)) return null;
  const shared = { project, callIds, onClose: () => choose(undefined) };
  return (
    <span className={styles['bar']}>
      <Button onClick={() => choose('queue')}>Add to queue</Button>
      <Button onClick={() => choose('dataset')}>Add to dataset</Button>
      <Suspense fallback={null}>
        {to === 'queue' && <AddToQueue {...shared} />}
        {to === 'dataset' && <AddToDataset {...shared} />}
      </Suspense>
    </span>
  );
}

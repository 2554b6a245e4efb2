import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { forgetProject, noteProject } from '../api/recent-projects.ts';
import { type Me, reaches } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import styles from './connect.module.css';
import { DEMO_PROJECT } from './demo-project.ts';

/** Loaded on demand: dialogs are large, and this page is the first one of the console. */
const EraseDemo = lazy(() =>
  import('./EraseDemo.tsx').then((module) => ({ default: module.EraseDemo })),
);

const [entity, project] = DEMO_PROJECT.split('/') as [string, string];

export function DemoData({ me }: { me: Me }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [step, setStep] = useState('');
  const [isAsking, ask] = useState(false);
  const load = useMutation({
    mutationFn: async () => (await import('./demo.ts')).loadDemo(setStep),
    onSuccess: async () => {
      noteProject(DEMO_PROJECT);
      await client.invalidateQueries();
      await navigate({ to: '/p/$entity/$project/traces', params: { entity, project } });
    },
  });
  const remove = useMutation({
    mutationFn: async () => (await import('./demo.ts')).removeDemo(),
    onSuccess: async () => {
      forgetProject(DEMO_PROJECT);
      ask(false);
      await client.invalidateQueries();
    },
  });
  if (!reaches(me, DEMO_PROJECT)) return null;
  const isBusy = load.isPending || remove.isPending;
  return (
    <section className={styles['demo']} aria-label="Demo data">
      <h2>Or look around first</h2>
      <p className={styles['soft']}>
        A day of a support agent: 64 traces in 16 threads, with feedback, prices, a dataset, a build
        and its finished training job. All of it goes into the project{' '}
        <Link to="/p/$entity/$project/traces" params={{ entity, project }}>
          {DEMO_PROJECT}
        </Link>
        . Other projects do not change.
      </p>
      <div className={styles['demoButtons']}>
        <Button disabled={isBusy} onClick={() => load.mutate()}>
          Load demo data
        </Button>
        <Button look="quiet" disabled={isBusy} onClick={() => ask(true)}>
          Remove demo data
        </Button>
        <span role="status" className={styles['soft']}>
          {load.isPending && `Loading ${step} …`}
          {remove.data &&
            (remove.data.is_done
              ? 'The demo data is removed.'
              : 'The demo data is being removed in the background.')}
        </span>
      </div>
      {load.error && <ErrorNote error={load.error} />}
      {isAsking && (
        <Suspense fallback={null}>
          <EraseDemo
            isBusy={isBusy}
            error={remove.error}
            onErase={() => remove.mutate()}
            onClose={() => ask(false)}
          />
        </Suspense>
      )}
    </section>
  );
}

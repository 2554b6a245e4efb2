import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { sessionQuery } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { AddressNote } from './AddressNote.tsx';
import { lazyPage } from './lazy-page.ts';
import { Sidebar } from './Sidebar.tsx';
import styles from './shell.module.css';

const Login = lazyPage(() => import('./Login.tsx'), 'Login');

/** The frame around every page. Users without a session see the sign-in at any address. */
export function Shell(): ReactNode {
  const { data, error, refetch } = useQuery(sessionQuery);
  if (error && !data)
    return (
      <main className={styles['centre']}>
        <ErrorNote error={error} />
        <Button onClick={() => void refetch()}>Try again</Button>
      </main>
    );
  if (!data) return null;
  if (!data.me)
    return (
      <Suspense fallback={null}>
        <Login />
      </Suspense>
    );
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#main">
        Skip to content
      </a>
      <Sidebar />
      <main id="main" tabIndex={-1} className={styles['main']}>
        <AddressNote />
        <Suspense fallback={null}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  );
}

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { mayActAs, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { type Key, keyState } from './key.ts';
import { keysQuery } from './queries.ts';
import styles from './keys.module.css';

const route = getRouteApi('/keys');
const NewKey = lazy(() => import('./NewKey.tsx').then((module) => ({ default: module.NewKey })));
const RevokeKey = lazy(() =>
  import('./RevokeKey.tsx').then((module) => ({ default: module.RevokeKey })),
);

export function KeysPage() {
  if (mayActAs(useMe(), 'admin')) return <Keys />;
  return (
    <EmptyState title="Only admins can see keys">
      <p>An admin creates keys and revokes them.</p>
    </EmptyState>
  );
}

function Keys() {
  const me = useMe();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [dialog, open] = useState<Key | 'new'>();
  const keys = useQuery(keysQuery);
  const { data, error } = keys;
  const close = () => open(undefined);
  return (
    <Page
      title="Keys"
      error={error}
      onRetry={() => void keys.refetch()}
      actions={
        <>
          <Button
            look="quiet"
            aria-pressed={search.ended === true}
            onClick={() => {
              const { ended: isShown, ...rest } = search;
              void navigate({ search: isShown ? rest : { ...rest, ended: true } });
            }}
          >
            Show ended keys
          </Button>
          <Button look="primary" onClick={() => open('new')}>
            New key
          </Button>
        </>
      }
    >
      {keys.isPending && <Skeleton rows={8} />}
      {data && (
        <List
          all={data}
          search={search}
          own={me.id}
          onSort={(sort) => void navigate({ search: { ...search, sort } })}
          onRevoke={open}
        />
      )}
      <Suspense fallback={null}>
        {dialog === 'new' && <NewKey me={me} onClose={close} />}
        {dialog !== undefined && dialog !== 'new' && (
          <RevokeKey keyToEnd={dialog} isOwn={dialog.id === me.id} onClose={close} />
        )}
      </Suspense>
    </Page>
  );
}

function List({
  all,
  search,
  own,
  onSort,
  onRevoke,
}: {
  all: readonly Key[];
  search: { sort?: string; ended?: true };
  own: string;
  onSort: (sort: string) => void;
  onRevoke: (key: Key) => void;
}) {
  const now = Date.now();
  const shown = search.ended ? all : all.filter((key) => keyState(key, now) === 'active');
  if (shown.length === 0)
    return (
      <EmptyState title="No key is active">
        <p>
          Create one for each person and each service. Recorded data names the user of the key that
          wrote it.
        </p>
      </EmptyState>
    );
  return (
    <Table
      label="Keys"
      rows={shown}
      rowKey={({ id }) => id}
      columns={keyColumns({ own, now, onRevoke })}
      sort={search.sort ?? '-created_at'}
      onSort={onSort}
    />
  );
}

function keyColumns({
  own,
  now,
  onRevoke,
}: {
  own: string;
  now: number;
  onRevoke: (key: Key) => void;
}): TableColumn<Key>[] {
  return [
    {
      name: 'user',
      title: 'User',
      sortBy: ({ user }) => user,
      cell: ({ id, user }) => (
        <span title={user}>
          {user}
          {id === own && <span className={styles['soft']}> · yours</span>}
        </span>
      ),
    },
    { name: 'role', title: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
    {
      name: 'scopes',
      title: 'Scopes',
      cell: ({ scopes }) => (
        <span className={styles['scopes']} title={scopes.join('\n')}>
          {scopes.join(', ')}
        </span>
      ),
    },
    { name: 'hint', title: 'Begins with', cell: ({ hint }) => <code>{hint}…</code> },
    {
      name: 'created_at',
      title: 'Created',
      isNumber: true,
      sortBy: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      name: 'expires_at',
      title: 'Expires',
      isNumber: true,
      sortBy: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => (expires_at ? <Time at={expires_at} /> : 'never'),
    },
    {
      name: 'state',
      title: '',
      isNumber: true,
      cell: (key) =>
        keyState(key, now) === 'active' ? (
          <Button
            className={styles['revoke']}
            aria-label={`Revoke the key of ${key.user}, ${key.hint}`}
            onClick={() => onRevoke(key)}
          >
            Revoke
          </Button>
        ) : (
          <span className={styles['soft']}>{keyState(key, now)}</span>
        ),
    },
  ];
}

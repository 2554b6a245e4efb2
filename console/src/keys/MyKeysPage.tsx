import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import type { Key } from './key.ts';
import { NewKey } from './NewKey.tsx';
import { ownKeysQuery } from './queries.ts';
import { RevokeKey } from './RevokeKey.tsx';

export function MyKeysPage() {
  const me = useMe();
  const [dialog, open] = useState<Key | 'new'>();
  const { data, error, isPending, refetch } = useQuery(ownKeysQuery);
  const close = () => open(undefined);
  if (me.person === null)
    return (
      <EmptyState title="Only people have keys of their own">
        <p>You are signed in with a key and not as a person.</p>
      </EmptyState>
    );
  return (
    <Page
      title="My keys"
      error={error}
      onRetry={() => void refetch()}
      actions={
        <Button look="primary" onClick={() => open('new')}>
          New key
        </Button>
      }
    >
      {isPending && <Skeleton rows={4} />}
      {data?.length === 0 && (
        <EmptyState title="You have no key">
          <p>Your key can do what you may do, within the role and the scopes that you give it.</p>
        </EmptyState>
      )}
      {data && data.length > 0 && (
        <Table
          label="My keys"
          rows={data}
          rowKey={({ id }) => id}
          sort="-created_at"
          onSort={() => {}}
          columns={[
            { name: 'hint', title: 'Begins with', cell: ({ hint }) => <code>{hint}…</code> },
            { name: 'role', title: 'Role', cell: ({ role }) => role },
            { name: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
            { name: 'made', title: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
            { name: 'ends', title: 'Expires', cell: ({ expires_at }) => <Time at={expires_at!} /> },
            {
              name: 'revoke',
              title: '',
              cell: (key) => (
                <Button aria-label={`Revoke the key ${key.hint}`} onClick={() => open(key)}>
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      {dialog === 'new' && <NewKey me={me} isOwn onClose={close} />}
      {dialog !== undefined && dialog !== 'new' && (
        <RevokeKey keyToEnd={dialog} isOwn={dialog.id === me.id} onClose={close} />
      )}
    </Page>
  );
}

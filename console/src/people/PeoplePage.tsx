import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { post, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { mayActAs, useMe, useProviders } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { AddMember } from './AddMember.tsx';
import { type Member, membersQuery, usersQuery } from './queries.ts';
import styles from './people.module.css';

const route = getRouteApi('/people');

type User = Schema<'UserDto'>;

export function PeoplePage() {
  if (mayActAs(useMe(), 'admin')) return <People />;
  return (
    <EmptyState title="Only admins can see people">
      <p>An admin of a project gives roles in the project.</p>
    </EmptyState>
  );
}

export const memberName = ({ email, name, group, user_id }: Member): string =>
  group === null ? (email ?? name ?? user_id ?? '') : `group ${group}`;

function People() {
  const me = useMe();
  const { scope } = route.useSearch();
  const navigate = route.useNavigate();
  const [dialog, open] = useState<Member | User | 'new'>();
  const members = useQuery(membersQuery(scope));
  const users = useQuery(usersQuery);
  const close = () => open(undefined);
  return (
    <Page
      title="People"
      error={members.error ?? users.error}
      onRetry={() => void Promise.all([members.refetch(), users.refetch()])}
      actions={
        <Button look="primary" onClick={() => open('new')}>
          Add member
        </Button>
      }
    >
      <div className={styles['filter']}>
        <Field
          label="Scope"
          placeholder="all scopes that you administer"
          value={scope ?? ''}
          onChange={({ target }) =>
            void navigate({ search: target.value ? { scope: target.value } : {}, replace: true })
          }
        />
      </div>
      {members.isPending && <Skeleton rows={6} />}
      {members.data && <Members found={members.data} onRemove={open} />}
      <h2 className={styles['heading']}>People who have signed in</h2>
      {users.data && <Users found={users.data} onChange={open} />}
      {dialog === 'new' && (
        <AddMember me={me} scope={scope} members={members.data?.members ?? []} onClose={close} />
      )}
      <Change dialog={dialog} onClose={close} />
    </Page>
  );
}

function Users({
  found: { users, has_more },
  onChange,
}: {
  found: Schema<'UsersDto'>;
  onChange: (user: User) => void;
}) {
  const me = useMe();
  const isOperator = me.grants.some(({ role, scopes }) => role === 'admin' && scopes.includes('*'));
  const hasProviders = useProviders().length > 1;
  return (
    <>
      <Table
        label="People who have signed in"
        rows={users}
        rowKey={({ id }) => id}
        columns={userColumns({ isOperator, hasProviders }, me.person?.id, onChange)}
        sort="-last_seen"
        onSort={() => {}}
      />
      {has_more && <p>There are more people than this table shows.</p>}
    </>
  );
}

function Change({
  dialog,
  onClose,
}: {
  dialog: Member | User | 'new' | undefined;
  onClose: () => void;
}) {
  if (typeof dialog !== 'object') return null;
  if ('role' in dialog) return <Remove member={dialog} onClose={onClose} />;
  return <SetActive user={dialog} onClose={onClose} />;
}

function Members({
  found: { members, has_more },
  onRemove,
}: {
  found: Schema<'MembersDto'>;
  onRemove: (member: Member) => void;
}) {
  const [sort, setSort] = useState('scope');
  const hasProviders = useProviders().length > 1;
  if (members.length === 0)
    return (
      <EmptyState title="Nobody has a role here yet">
        <p>Add a person by e-mail address, before or after the person signs in, or add a group.</p>
      </EmptyState>
    );
  return (
    <>
      <Table
        label="Members"
        rows={members}
        rowKey={({ id }) => id}
        columns={memberColumns(hasProviders, onRemove)}
        sort={sort}
        onSort={setSort}
      />
      {has_more && <p>There are more members: enter a scope.</p>}
    </>
  );
}

/** Shown with several providers, since two of them may have the same address or group. */
const issuerColumn: TableColumn<{ issuer: string | null }> = {
  name: 'issuer',
  title: 'Signs in with',
  cell: ({ issuer }) => (issuer ? new URL(issuer).host : ''),
};

const memberColumns = (
  hasProviders: boolean,
  onRemove: (member: Member) => void,
): TableColumn<Member>[] => [
  { name: 'who', title: 'Who', sortBy: memberName, cell: memberName },
  ...(hasProviders ? [issuerColumn] : []),
  { name: 'role', title: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
  { name: 'scope', title: 'Scope', sortBy: ({ scope }) => scope, cell: ({ scope }) => scope },
  {
    name: 'last_seen',
    title: 'Last seen',
    sortBy: ({ last_seen }) => last_seen,
    cell: ({ last_seen, group, active }) =>
      active === false ? 'deactivated' : last_seen ? <Time at={last_seen} /> : group ? '' : 'never',
  },
  {
    name: 'remove',
    title: '',
    cell: (member) => (
      <Button
        aria-label={`Remove ${memberName(member)} from ${member.scope}`}
        onClick={() => onRemove(member)}
      >
        Remove
      </Button>
    ),
  },
];

const userColumns = (
  { isOperator, hasProviders }: { isOperator: boolean; hasProviders: boolean },
  own: string | undefined,
  onChange: (user: User) => void,
): TableColumn<User>[] => [
  {
    name: 'who',
    title: 'Who',
    cell: ({ email, email_verified, subject }) =>
      email ? `${email}${email_verified ? '' : ' (not verified)'}` : subject,
  },
  { name: 'name', title: 'Name', cell: ({ name }) => name ?? '' },
  ...(hasProviders ? [issuerColumn] : []),
  { name: 'groups', title: 'Groups', cell: ({ groups }) => groups?.join(', ') ?? '' },
  { name: 'last_seen', title: 'Last seen', cell: ({ last_seen }) => <Time at={last_seen} /> },
  {
    name: 'change',
    title: '',
    cell: (user) =>
      isOperator && user.id !== own ? (
        <Button
          aria-label={`${user.active ? 'Deactivate' : 'Activate'} ${user.email ?? user.subject}`}
          onClick={() => onChange(user)}
        >
          {user.active ? 'Deactivate' : 'Activate'}
        </Button>
      ) : user.active ? (
        ''
      ) : (
        'deactivated'
      ),
  },
];

/** Explains the effect of a change and asks for confirmation. */
function Confirm({
  title,
  meaning,
  action,
  change,
  onClose,
}: {
  title: string;
  meaning: string;
  action: string;
  change: () => Promise<unknown>;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const work = useMutation({
    mutationFn: change,
    onSuccess: async () => {
      await Promise.all(
        [keys.members(), keys.users()].map((queryKey) => client.invalidateQueries({ queryKey })),
      );
      onClose();
    },
  });
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <p>{meaning}</p>
      {work.error && <ErrorNote error={work.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={work.isPending} onClick={() => work.mutate()}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function Remove({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, role, scope, group } = member;
  const whom = group === null ? memberName(member) : `everybody in the group ${group}`;
  return (
    <Confirm
      title={`Remove ${memberName(member)}?`}
      meaning={`Within 5 seconds, ${whom} loses the role ${role} in ${scope}, and so do the keys. Roles from other rows stay. A person without any role is signed out.`}
      action="Remove"
      change={() => post('/members/remove', { id })}
      onClose={onClose}
    />
  );
}

function SetActive({ user, onClose }: { user: User; onClose: () => void }) {
  const { id, active, email, subject } = user;
  return (
    <Confirm
      title={`${active ? 'Deactivate' : 'Activate'} ${email ?? subject}?`}
      meaning={
        active
          ? 'Within 5 seconds, their sessions end, their keys stop working and their running requests are cut. They keep their roles.'
          : 'They may sign in again, and their keys work again.'
      }
      action={active ? 'Deactivate' : 'Activate'}
      change={() => post(active ? '/users/deactivate' : '/users/activate', { id })}
      onClose={onClose}
    />
  );
}

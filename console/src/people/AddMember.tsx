import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type RequestBody, post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { type Me, useProviders } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import type { Member } from './queries.ts';
import styles from './people.module.css';

type Role = Member['role'];

const ROLES: Record<Role, string> = {
  reader: 'see what was recorded',
  writer: 'see, record and change what is recorded',
  admin: 'see and change everything, make keys, give roles, and erase projects',
};

const placeOf = (scope: string) => {
  if (scope === '*') return 'in every project';
  return scope.endsWith('/*') ? `in all projects of ${scope.slice(0, -2)}` : `in ${scope}`;
};

const firstScope = (me: Me): string =>
  me.grants.find(({ role }) => role === 'admin')?.scopes[0] ?? '';

/** The member who already has a role in the scope. The new role replaces it. */
const memberBefore = (
  members: readonly Member[],
  {
    kind,
    name,
    scope,
    issuer,
  }: { kind: 'email' | 'group'; name: string; scope: string; issuer: string | undefined },
) =>
  members.find(
    (member) =>
      member[kind]?.toLowerCase() === name.toLowerCase() &&
      member.scope === scope &&
      member.issuer === issuer,
  );

/** Gives a person or a group a role, and explains the effect first. */
export function AddMember({
  me,
  scope: shown,
  members,
  onClose,
}: {
  me: Me;
  scope: string | undefined;
  members: readonly Member[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [kind, setKind] = useState<'email' | 'group'>('email');
  const [who, setWho] = useState('');
  const [scope, setScope] = useState(shown ?? firstScope(me));
  const [role, setRole] = useState<Role>('reader');
  const [first] = useProviders();
  const [issuer, setIssuer] = useState(me.person?.issuer ?? first?.issuer);
  const add = useMutation({
    mutationFn: (body: RequestBody<'/members/set'>) => post('/members/set', body),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.members() });
      onClose();
    },
  });
  const name = who.trim();
  const before = memberBefore(members, { kind, name, scope, issuer });
  const isComplete = name !== '' && scope !== '';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ scope, role, [kind]: name, issuer: issuer ?? null });
  };
  return (
    <Dialog title="Give a role" isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        <SelectField
          label="Give to"
          value={kind}
          options={[
            ['email', 'a person, by e-mail address'],
            ['group', 'a group of the provider'],
          ]}
          onChoose={setKind}
        />
        <Field
          label={kind === 'email' ? 'E-mail' : 'Group'}
          value={who}
          onChange={({ target }) => setWho(target.value)}
        />
        <ChooseProvider value={issuer} onChange={setIssuer} />
        <Field
          label="Scope"
          value={scope}
          onChange={({ target }) => setScope(target.value.trim())}
        />
        <SelectField
          label="Role"
          value={role}
          options={(Object.keys(ROLES) as Role[]).map((one) => [one, one])}
          onChoose={setRole}
        />
        {isComplete && (
          <Meaning
            isGroup={kind === 'group'}
            name={name}
            role={role}
            scope={scope}
            was={before?.role}
          />
        )}
        {add.error && <ErrorNote error={add.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!isComplete || add.isPending}>
            Give the role
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Shown with several providers, since two of them may have the same address or group. */
function ChooseProvider({
  value,
  onChange,
}: {
  value: string | undefined;
  onChange: (issuer: string) => void;
}) {
  const providers = useProviders();
  if (providers.length < 2) return null;
  return (
    <SelectField
      label="Signs in with"
      value={value}
      options={providers.map(({ issuer, name }) => [issuer, name])}
      onChoose={onChange}
    />
  );
}

function Meaning({
  isGroup,
  name,
  role,
  scope,
  was,
}: {
  isGroup: boolean;
  name: string;
  role: Role;
  scope: string;
  was: Role | undefined;
}) {
  return (
    <p className={styles['meaning']}>
      {isGroup ? `Everybody in the group ${name}` : name} will be able to {ROLES[role]}{' '}
      {placeOf(scope)}
      {was !== undefined && was !== role && `, as ${role} instead of ${was}`}.
    </p>
  );
}

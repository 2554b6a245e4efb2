import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type RequestBody, post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { recentProjects } from '../api/recent-projects.ts';
import { mayActAs, type Me, reaches } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import controls from '../ui/controls.module.css';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import { isScope, parseScopes } from './key.ts';
import styles from './keys.module.css';

type Role = Me['role'];

const ROLES: Record<Role, string> = {
  reader: 'reads what was recorded',
  writer: 'records calls and changes what was recorded',
  admin: 'also creates and revokes keys, and erases projects',
  trainer: 'runs training jobs, and nothing else',
};

export function NewKey({
  me,
  isOwn = false,
  onClose,
}: {
  me: Me;
  /** The key belongs to the signed-in person and needs no user name. */
  isOwn?: boolean;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (body: RequestBody<'/keys/create'>) => post('/keys/create', body),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.apiKeys() }),
  });
  if (make.data)
    return (
      <Dialog title="The new key" isOpen onClose={onClose}>
        <div className={styles['made']}>
          <code className={controls['secret']}>{make.data.secret}</code>
          <CopyButton text={make.data.secret} />
        </div>
        <p className={styles['soft']}>
          Copy the key now: it is shown only once, and nobody can look it up later.
        </p>
        <DialogActions>
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </DialogActions>
      </Dialog>
    );
  return (
    <Dialog title="New key" isOpen onClose={onClose}>
      <Form me={me} isOwn={isOwn} make={make} onClose={onClose} />
    </Dialog>
  );
}

function Form({
  me,
  isOwn,
  make,
  onClose,
}: {
  me: Me;
  isOwn: boolean;
  make: { mutate: (body: RequestBody<'/keys/create'>) => void; isPending: boolean; error: unknown };
  onClose: () => void;
}) {
  const [user, setUser] = useState('');
  const [role, setRole] = useState<Role>(mayActAs(me, 'writer') ? 'writer' : 'reader');
  const [typed, type] = useState(
    () => recentProjects().find((name) => reaches(me, name)) ?? me.scopes.join(', '),
  );
  const [expires, setExpires] = useState('');
  const scopes = parseScopes(typed);
  const bad = scopes.find((scope) => !isScope(scope));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const expires_at = expires === '' ? null : new Date(expires).toISOString();
    make.mutate({ ...(!isOwn && { user: user.trim() }), role, scopes, expires_at });
  };
  return (
    <form onSubmit={submit} className={styles['form']}>
      {!isOwn && (
        <Field
          label="User"
          placeholder="ada, or checkout-service"
          value={user}
          maxLength={256}
          onChange={({ target }) => setUser(target.value)}
          hint="Recorded data names this user as its author."
        />
      )}
      <SelectField
        label="Role"
        value={role}
        options={(Object.keys(ROLES) as Role[])
          .filter((one) => mayActAs(me, one === 'trainer' ? 'admin' : one))
          .map((one) => [one, `${one}: ${ROLES[one]}`])}
        onChoose={setRole}
      />
      <Field
        label="Scopes"
        placeholder="acme/demo, acme/*, *"
        value={typed}
        onChange={({ target }) => type(target.value)}
        isInvalid={bad !== undefined}
        hint={
          bad === undefined
            ? 'Write projects, acme/* for all projects of acme, or * for all projects.'
            : `${bad} is not a scope. Write entity/project, entity/* or *.`
        }
      />
      <Field
        label="Expires"
        type="datetime-local"
        value={expires}
        onChange={({ target }) => setExpires(target.value)}
        hint={
          isOwn
            ? 'In your time zone. If empty, the key expires in 90 days.'
            : 'In your time zone. If empty, the key never expires.'
        }
      />
      {make.error !== null && <ErrorNote error={make.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          disabled={
            (!isOwn && user.trim() === '') ||
            scopes.length === 0 ||
            bad !== undefined ||
            make.isPending
          }
        >
          Create key
        </Button>
      </DialogActions>
    </form>
  );
}

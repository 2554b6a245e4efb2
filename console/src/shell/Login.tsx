import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { sessionQuery, signIn } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { Mark } from './Mark.tsx';
import styles from './shell.module.css';

/** Why a login link did not work; told once. */
function refusal(): Error | undefined {
  const message = sessionStorage.getItem('skein.refused');
  sessionStorage.removeItem('skein.refused');
  return message === null ? undefined : new Error(message);
}

export function Login() {
  const client = useQueryClient();
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>(refusal);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn('Bearer', key.trim());
      await client.refetchQueries(sessionQuery);
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <main className={styles['centre']}>
      <form className={styles['login']} onSubmit={(event) => void submit(event)}>
        <h1 className={styles['loginTitle']}>
          <Mark /> Skein
        </h1>
        <Field
          label="API key"
          type="password"
          placeholder="skn_…"
          value={key}
          onChange={({ target }) => setKey(target.value)}
          autoFocus
          hint="It is exchanged for a session of 12 hours and kept nowhere in this browser."
        />
        {error !== undefined && <ErrorNote error={error} />}
        <Button type="submit" look="primary" disabled={key.trim() === '' || isBusy}>
          Sign in
        </Button>
        <p className={styles['loginHint']}>
          On the machine of the service, <code>npm run keys -- login</code> prints a link that signs
          you in.
        </p>
      </form>
    </main>
  );
}

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Session, sessionQuery, signIn } from '../api/session.ts';
import { Button, buttonClass } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { Logo } from './Logo.tsx';
import styles from './shell.module.css';

/** Takes the error of a failed login link or sign-in from the storage, so that it is shown once. */
function refusal(): Error | undefined {
  const message = sessionStorage.getItem('skein.refused');
  sessionStorage.removeItem('skein.refused');
  return message === null ? undefined : new Error(message);
}

const NONE = { signIn: [], keySignIn: true };

function Providers({ all }: { all: Session['signIn'] }) {
  return all.map(({ name, url }, at) => (
    <a
      key={url}
      className={buttonClass(at === 0 ? 'primary' : undefined)}
      href={`${url}?to=${encodeURIComponent(location.pathname + location.search)}`}
    >
      Sign in with {name}
    </a>
  ));
}

export function Login() {
  const client = useQueryClient();
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>(refusal);
  const [isBusy, setBusy] = useState(false);
  const { signIn: providers, keySignIn } = useQuery(sessionQuery).data ?? NONE;
  const [withKey, showKey] = useState(false);
  const isAlone = providers.length === 0;
  const isKeyShown = keySignIn && (withKey || isAlone);
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
          <Logo /> Skein
        </h1>
        <Providers all={providers} />
        {isKeyShown && (
          <Field
            label="API key"
            type="password"
            placeholder="skn_…"
            value={key}
            onChange={({ target }) => setKey(target.value)}
            autoFocus
            hint="The key opens a session of 12 hours. This browser does not store the key."
          />
        )}
        {error !== undefined && <ErrorNote error={error} />}
        {isKeyShown && (
          <Button
            type="submit"
            look={isAlone ? 'primary' : undefined}
            disabled={key.trim() === '' || isBusy}
          >
            {isAlone ? 'Sign in' : 'Sign in with the key'}
          </Button>
        )}
        {keySignIn && !isKeyShown && (
          <Button look="quiet" onClick={() => showKey(true)}>
            Use an API key
          </Button>
        )}
        <p className={styles['loginHint']}>
          On the machine of the service, <code>npm run keys -- login</code> prints a link that signs
          you in.
        </p>
      </form>
    </main>
  );
}

import { useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { post } from '../api/client.ts';
import { isProject } from '../api/recent-projects.ts';
import { mayActAs, reaches, useMe, type Me } from '../api/session.ts';
import { wire } from '../api/wire.ts';
import { Button } from '../ui/Button.tsx';
import { Code } from '../ui/Code.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import controls from '../ui/controls.module.css';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import styles from './connect.module.css';
import { DemoData } from './DemoData.tsx';
import { FirstCall } from './FirstCall.tsx';
import { type Snippet, snippets } from './snippets.ts';

const route = getRouteApi('/connect');

/** The project that the key is limited to, or a suggested name. */
const firstProject = (me: Me): string => {
  const named = me.scopes.find(isProject);
  const [entity] = me.scopes[0]!.split('/');
  return named ?? `${entity === '*' ? 'acme' : entity}/first-steps`;
};

/** Leads a new user to the first call: project, key, snippet, and the call when it arrives. */
export function ConnectPage() {
  const me = useMe();
  const { project: given } = route.useSearch();
  const [typed, setTyped] = useState(given ?? firstProject(me));
  const project = useDeferredValue(typed.trim());
  const [secret, setSecret] = useState<{ project: string; secret: string }>();
  const isGood = isProject(project) && reaches(me, project);
  const key = secret?.project === project ? secret.secret : undefined;
  return (
    <div className={styles['page']}>
      <h1>Connect</h1>
      <ol className={styles['steps']}>
        <li>
          <h2>Project</h2>
          <Field
            label="Entity and project; the first call creates it"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            isInvalid={!isGood}
            hint={isGood ? undefined : projectHint(me, project)}
          />
        </li>
        <li>
          <h2>Key</h2>
          <MakeKey
            me={me}
            project={project}
            isGood={isGood}
            secret={key}
            onMade={(made) => setSecret({ project, secret: made })}
          />
        </li>
        <li>
          <h2>Send a call</h2>
          <Snippets
            all={snippets({
              url: location.origin,
              key: key ?? 'skn_…',
              project: isGood ? project : 'entity/project',
              scheme: wire.scheme,
            })}
          />
        </li>
        <li>
          <h2>See it</h2>
          {isGood && <FirstCall key={project} project={project} />}
        </li>
      </ol>
      {mayActAs(me, 'admin') && <DemoData me={me} />}
    </div>
  );
}

const projectHint = (me: Me, project: string) =>
  isProject(project)
    ? `Your key reaches ${me.scopes.join(', ')} only.`
    : 'Write two names with a slash between them. A name has letters, digits, "_", "." or "-".';

function MakeKey({
  me,
  project,
  isGood,
  secret,
  onMade,
}: {
  me: Me;
  project: string;
  isGood: boolean;
  secret: string | undefined;
  onMade: (secret: string) => void;
}) {
  const make = useMutation({
    mutationFn: () =>
      post('/keys/create', {
        ...(me.person === null && { user: me.user }), // the key of a person always belongs to that person
        role: 'writer',
        scopes: [project],
      }),
    onSuccess: (made) => onMade(made.secret),
  });
  if (me.person === null ? !mayActAs(me, 'admin') : !mayActAs(me, 'writer'))
    return (
      <p className={styles['soft']}>
        Replace <code>skn_…</code> with your own key. An admin can create keys.
      </p>
    );
  if (secret !== undefined)
    return (
      <div className={styles['made']}>
        <code className={controls['secret']}>{secret}</code>
        <CopyButton text={secret} />
        <p className={styles['soft']}>
          Copy the key now: it is shown only once. It has the role writer in this project only. The
          snippets below contain it.
        </p>
      </div>
    );
  return (
    <>
      <Button look="primary" disabled={!isGood || make.isPending} onClick={() => make.mutate()}>
        Create a key for this project
      </Button>
      {make.error && <ErrorNote error={make.error} />}
    </>
  );
}

function Snippets({ all }: { all: Snippet[] }) {
  const [shown, show] = useState<Snippet['value']>('python');
  return (
    <Tabs
      value={shown}
      onChange={show}
      tabs={all.map(({ value, label, needs, text }) => ({
        value,
        label,
        content: (
          <div className={styles['snippet']}>
            <p className={styles['soft']}>Needs {needs}.</p>
            <Code text={text} label={`${label} snippet`} />
          </div>
        ),
      }))}
    />
  );
}

import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { projectsQuery } from '../api/projects.ts';
import { isProject, recentProjects } from '../api/recent-projects.ts';
import { reaches, useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import styles from './shell.module.css';

/**
 * Chooses a project. Offers recently opened ones first, then those with data. Any other name that the key reaches can
 * be typed.
 */
export function ProjectDialog({
  current,
  onClose,
}: {
  current: string | undefined;
  onClose: () => void;
}) {
  const me = useMe();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const text = typed.trim();
  const stored = useQuery(projectsQuery).data?.map(({ project_id }) => project_id) ?? [];
  const known = [...new Set([...recentProjects(), ...stored])].filter(
    (name) => name !== current && reaches(me, name) && name.includes(text),
  );
  const isOutside = isProject(text) && !reaches(me, text);
  const open = (name: string) => {
    const [entity, project] = name.split('/') as [string, string];
    onClose();
    void navigate({ to: '/p/$entity/$project/traces', params: { entity, project } });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const chosen = isProject(text) && !isOutside ? text : known[0];
    if (chosen !== undefined) open(chosen);
  };
  return (
    <Dialog title="Open a project" isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['chooser']}>
        <Field
          label="Entity and project"
          placeholder="acme/demo"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          isInvalid={isOutside}
          hint={
            isOutside
              ? `Your key reaches ${me.scopes.join(', ')} only.`
              : 'Enter opens what you typed, or the first of the list.'
          }
        />
        <ul className={styles['known']}>
          {known.map((name) => (
            <li key={name}>
              <Button look="quiet" onClick={() => open(name)}>
                {name}
              </Button>
            </li>
          ))}
        </ul>
      </form>
    </Dialog>
  );
}

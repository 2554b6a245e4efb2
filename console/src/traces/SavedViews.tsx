import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { VIEW_CLASS } from '../api/object-classes.ts';
import { useMe, mayActAs } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import type { TracesSearch } from './request.ts';
import { viewsQuery } from './view-queries.ts';
import styles from './traces.module.css';

/** The object id of a view: the words of its label, and a hash that separates labels with the same words. */
function viewId(label: string): string {
  const words = label
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\w]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .toLowerCase()
    .slice(0, 80);
  let hash = 0;
  for (const character of label) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0;
  return ['view', words, (hash >>> 0).toString(36)].filter((part) => part !== '').join('.');
}

/** Lists searches that are saved in the project, for all its users. */
export function SavedViews({
  project,
  search,
  onOpen,
  onClose,
}: {
  project: string;
  search: TracesSearch;
  onOpen: (search: TracesSearch) => void;
  onClose: () => void;
}) {
  const me = useMe();
  const client = useQueryClient();
  const [label, setLabel] = useState('');
  const kept = useQuery(viewsQuery(project));
  const changed = () => client.invalidateQueries({ queryKey: keys.views(project) });
  const save = useMutation({
    mutationFn: () =>
      post('/obj/create', {
        obj: {
          project_id: project,
          object_id: viewId(label.trim()),
          val: {
            _type: VIEW_CLASS,
            _class_name: VIEW_CLASS,
            _bases: ['Object', 'BaseModel'],
            label: label.trim(),
            search,
          },
        },
      }),
    onSuccess: async () => {
      setLabel('');
      await changed();
    },
  });
  const remove = useMutation({
    mutationFn: (object_id: string) => post('/obj/delete', { project_id: project, object_id }),
    onSuccess: changed,
  });
  const isWriter = mayActAs(me, 'writer', project);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const error = kept.error ?? save.error ?? remove.error;
  return (
    <Dialog title="Views" isOpen onClose={onClose}>
      {kept.data?.length === 0 && (
        <p className={styles['soft']}>
          This project has no views yet. A view stores a filter and a time range for everybody in
          the project.
        </p>
      )}
      <ul className={styles['views']}>
        {kept.data?.map((view) => (
          <li key={view.object_id}>
            <Button look="quiet" onClick={() => onOpen(view.search)}>
              <strong>{view.label}</strong> <code>{view.search.q ?? 'no filter'}</code>
            </Button>
            {isWriter && (
              <Button
                look="quiet"
                aria-label={`Delete the view ${view.label}`}
                onClick={() => remove.mutate(view.object_id)}
              >
                Delete
              </Button>
            )}
          </li>
        ))}
      </ul>
      {error && <ErrorNote error={error} />}
      {isWriter && (
        <form onSubmit={submit} className={styles['saveView']}>
          <Field
            label="Save this view as"
            value={label}
            maxLength={100}
            onChange={({ target }) => setLabel(target.value)}
          />
          <Button type="submit" look="primary" disabled={label.trim() === '' || save.isPending}>
            Save
          </Button>
        </form>
      )}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}

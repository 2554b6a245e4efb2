import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useId, useState } from 'react';
import { post, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field, inputClass } from '../ui/Field.tsx';
import { FirstRows } from '../ui/FirstRows.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { callsText } from './AddToQueue.tsx';
import { datasetsQuery } from './queries.ts';
import styles from './collect.module.css';
import {
  firstError,
  firstPaths,
  foundText,
  type SampleCall,
  samplePaths,
  useSample,
} from './sample.ts';

/** Calls sent in one request. */
const AT_ONCE = 1000;

interface Column {
  name: string;
  path: string;
}

/** A column named by the last member of its path. */
const columnFor = (path: string): Column => ({ name: path.split('.').at(-1)!, path });

export function AddToDataset({
  project,
  callIds,
  onClose,
}: {
  project: string;
  callIds: readonly string[];
  onClose: () => void;
}) {
  const id = useId();
  const known = useQuery(datasetsQuery(project));
  const sample = useSample(project, callIds);
  const [first] = sample.calls;
  const [typed, setTyped] = useState('');
  const [edited, edit] = useState<readonly Column[]>();
  const columns = edited ?? firstPaths(first).map(columnFor);
  const objectId = typed.trim();
  const isName = /^[\w.-]{1,128}$/.test(objectId);
  const fault = columnsFault(columns);
  const add = useAdd({ project, callIds, objectId, columns });
  if (add.data) return <AddedToDataset project={project} answer={add.data} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  const error = firstError(add, sample, known);
  return (
    <Dialog title={`Add ${callsText(callIds.length)} to a dataset`} isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        <Field
          label="Dataset"
          list={`${id}-datasets`}
          value={typed}
          maxLength={128}
          isInvalid={objectId !== '' && !isName}
          onChange={({ target }) => setTyped(target.value)}
          hint={datasetHint(objectId, isName, known.data)}
        />
        <datalist id={`${id}-datasets`}>
          {known.data?.map(({ object_id }) => (
            <option key={object_id} value={object_id} />
          ))}
        </datalist>
        <Columns first={first} columns={columns} fault={fault} onChange={edit} />
        {columns.length > 0 && (
          <FirstRows
            names={columns.map(({ name }) => name || '–')}
            rows={previewRows(columns, sample.calls)}
          />
        )}
        {error && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={!isName || fault !== undefined || add.isPending}
          >
            Add to the dataset
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function useAdd({
  project,
  callIds,
  objectId,
  columns,
}: {
  project: string;
  callIds: readonly string[];
  objectId: string;
  columns: readonly Column[];
}) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const sum = { added: 0, duplicates: 0, missing: 0 };
      let answer: Schema<'DatasetAddedDto'> | undefined;
      for (let at = 0; at < callIds.length; at += AT_ONCE) {
        answer = await post('/datasets/add_from_calls', {
          project_id: project,
          object_id: objectId,
          call_ids: callIds.slice(at, at + AT_ONCE),
          columns: Object.fromEntries(columns.map(({ name, path }) => [name.trim(), path.trim()])),
        });
        for (const key of ['added', 'duplicates', 'missing'] as const) sum[key] += answer[key];
      }
      return { ...answer!, ...sum };
    },
    onSettled: () =>
      Promise.all(
        [keys.datasets(project), keys.objects(project)].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

function Columns({
  first,
  columns,
  fault,
  onChange,
}: {
  first: SampleCall | undefined;
  columns: readonly Column[];
  fault: string | undefined;
  onChange: (columns: readonly Column[]) => void;
}) {
  const id = useId();
  return (
    <fieldset className={styles['inner']}>
      <legend>Columns, each with its path in a call</legend>
      {columns.map(({ name, path }, n) => (
        <div key={n} className={styles['path']} data-named>
          <input
            className={inputClass}
            aria-label={`Column ${n + 1}`}
            value={name}
            maxLength={256}
            onChange={({ target }) => onChange(columns.with(n, { name: target.value, path }))}
          />
          <input
            className={inputClass}
            aria-label={`Path ${n + 1}`}
            list={`${id}-paths`}
            value={path}
            onChange={({ target }) => onChange(columns.with(n, { name, path: target.value }))}
          />
          <Button
            look="quiet"
            aria-label={`Remove the column ${n + 1}`}
            onClick={() => onChange(columns.toSpliced(n, 1))}
          >
            Remove
          </Button>
        </div>
      ))}
      <datalist id={`${id}-paths`}>
        {first && samplePaths(first).map((path) => <option key={path} value={path} />)}
      </datalist>
      <Button
        className={styles['start'] ?? ''}
        onClick={() => onChange([...columns, { name: '', path: '' }])}
      >
        Add a column
      </Button>
      {first && fault !== undefined && <p className={styles['soft']}>{fault}</p>}
    </fieldset>
  );
}

function columnsFault(columns: readonly Column[]): string | undefined {
  const names = columns.map(({ name }) => name.trim());
  if (names.length === 0) return 'A row needs a column.';
  if (columns.some(({ name, path }) => name.trim() === '' || path.trim() === ''))
    return 'Each column needs a name and a path.';
  return new Set(names).size < names.length ? 'Two columns have the same name.' : undefined;
}

function datasetHint(
  objectId: string,
  isName: boolean,
  known: readonly { object_id: string; version_index: number }[] = [],
): string {
  if (objectId === '') return 'The name of an existing dataset, or a new name.';
  if (!isName) return 'Use at most 128 letters, digits, "_", "." and "-".';
  const existing = known.find(({ object_id }) => object_id === objectId);
  return existing
    ? `This dataset exists: the rows make a new version after version ${existing.version_index}.`
    : 'This makes a new dataset.';
}

/** Returns the row of each call as the preview shows it. */
const previewRows = (columns: readonly Column[], sample: readonly SampleCall[]) =>
  sample.map((call) =>
    columns.map(({ path }) =>
      path.startsWith('feedback.')
        ? 'the latest feedback when the row is added'
        : (foundText(call, path) ?? 'null'),
    ),
  );

function AddedToDataset({
  project,
  answer,
  onClose,
}: {
  project: string;
  answer: Schema<'DatasetAddedDto'>;
  onClose: () => void;
}) {
  const [entity, name] = project.split('/') as [string, string];
  const { object_id: objectId, added, duplicates, missing, num_rows, version_index } = answer;
  return (
    <Dialog title={`Added to ${objectId}`} isOpen onClose={onClose}>
      <p role="status">
        {count(added)} {added === 1 ? 'row' : 'rows'} added, {count(duplicates)} already in the
        dataset, {count(missing)} not found. Version {version_index} has {count(num_rows)} rows.
      </p>
      <DialogActions>
        <Link
          to="/p/$entity/$project/objects/$objectId"
          params={{ entity, project: name, objectId }}
          search={{}}
        >
          Open the dataset
        </Link>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

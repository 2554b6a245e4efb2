import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { post, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import type { Version } from './queries.ts';
import styles from './objects.module.css';

const GROUPS = {
  trace: 'rows of calls of one trace',
  thread: 'rows of calls of one thread',
  row: 'nothing: each row by itself',
};
const MOST_PARTS = 10;

interface SplitPart {
  name: string;
  percent: string;
}

export function SplitDataset({
  project,
  version: { object_id, digest, version_index },
  onClose,
}: {
  project: string;
  version: Version;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [parts, setParts] = useState<readonly SplitPart[]>([
    { name: `${object_id}-train`, percent: '70' },
    { name: `${object_id}-test`, percent: '30' },
  ]);
  const [group, setGroup] = useState<keyof typeof GROUPS>('trace');
  const [seed, setSeed] = useState('1');
  const fault = partsFault(parts);
  const split = useMutation({
    mutationFn: () =>
      post('/datasets/split', {
        project_id: project,
        object_id,
        digest,
        seed,
        group_by: group,
        parts: parts.map(({ name, percent }) => ({
          object_id: name.trim(),
          fraction: Number(percent) / 100,
        })),
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.objects(project) }),
  });
  if (split.data)
    return <SplitParts project={project} parts={split.data.parts} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    split.mutate();
  };
  const set = (n: number, some: Partial<SplitPart>) =>
    setParts(parts.with(n, { ...parts[n]!, ...some }));
  return (
    <Dialog title={`Split version ${version_index} of ${object_id}`} isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        {parts.map(({ name, percent }, n) => (
          <div key={n} className={styles['part']}>
            <Field
              label={`Dataset ${n + 1}`}
              value={name}
              maxLength={128}
              onChange={({ target }) => set(n, { name: target.value })}
            />
            <Field
              label="Percent"
              inputMode="decimal"
              value={percent}
              onChange={({ target }) => set(n, { percent: target.value })}
            />
            <Button
              look="quiet"
              aria-label={`Remove the dataset ${n + 1}`}
              disabled={parts.length <= 2}
              onClick={() => setParts(parts.toSpliced(n, 1))}
            >
              Remove
            </Button>
          </div>
        ))}
        <div>
          <Button
            disabled={parts.length >= MOST_PARTS}
            onClick={() => setParts([...parts, { name: '', percent: '0' }])}
          >
            Add a part
          </Button>
        </div>
        <SelectField
          label="Keep together"
          value={group}
          options={Object.entries(GROUPS)}
          onChoose={(chosen) => setGroup(chosen as typeof group)}
        />
        <Field
          label="Seed"
          value={seed}
          maxLength={256}
          onChange={({ target }) => setSeed(target.value)}
          hint="The same seed puts a row into the same part again, also after the dataset has grown."
        />
        {fault !== undefined && <p className={styles['soft']}>{fault}</p>}
        {split.error && <ErrorNote error={split.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={fault !== undefined || split.isPending}>
            Split
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function partsFault(parts: readonly SplitPart[]): string | undefined {
  const names = parts.map(({ name }) => name.trim());
  if (names.some((name) => !/^[\w.-]{1,128}$/.test(name)))
    return 'Write names with letters, digits, "_", "." and "-".';
  if (new Set(names).size < names.length) return 'Two parts have the same name.';
  const percents = parts.map(({ percent }) => Number(percent));
  if (percents.some((percent) => !(percent > 0))) return 'Each part needs a percentage above 0.';
  const sum = percents.reduce((a, b) => a + b, 0);
  return Math.abs(sum - 100) > 1e-6
    ? `The parts add up to ${sum} %. They must add up to 100 %.`
    : undefined;
}

function SplitParts({
  project,
  parts,
  onClose,
}: {
  project: string;
  parts: Schema<'DatasetVersionDto'>[];
  onClose: () => void;
}) {
  const [entity, name] = project.split('/') as [string, string];
  return (
    <Dialog title="Split" isOpen onClose={onClose}>
      <ul>
        {parts.map(({ object_id: objectId, version_index, num_rows }) => (
          <li key={objectId}>
            <Link
              to="/p/$entity/$project/objects/$objectId"
              params={{ entity, project: name, objectId }}
              search={{}}
            >
              {objectId}
            </Link>
            , version {version_index}: {count(num_rows)} {num_rows === 1 ? 'row' : 'rows'}
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

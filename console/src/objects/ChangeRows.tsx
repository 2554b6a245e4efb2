import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { erasedQuery, MOST_LINES, type Version } from './queries.ts';
import styles from './objects.module.css';

const SplitDataset = lazy(() =>
  import('./SplitDataset.tsx').then((module) => ({ default: module.SplitDataset })),
);

const rowWord = (n: number) => (n === 1 ? 'row' : 'rows');

/** Changes the rows of the latest version: removes some, removes those of erased calls, or splits the dataset. */
export function ChangeRows({
  project,
  version,
  selected,
  onChanged,
}: {
  project: string;
  version: Version;
  /** Digests of the selected rows. */
  selected: ReadonlySet<string>;
  onChanged: () => void;
}) {
  const client = useQueryClient();
  const [isSplitting, split] = useState(false);
  const { object_id } = version;
  const erased = useQuery(erasedQuery(project, object_id));
  const remove = useMutation({
    mutationFn: (row_digests: string[]) =>
      post('/datasets/remove_rows', { project_id: project, object_id, row_digests }),
    onSuccess: async () => {
      await Promise.all([
        client.invalidateQueries({ queryKey: keys.objects(project) }),
        client.invalidateQueries({ queryKey: keys.rowSources(project, object_id) }),
        client.invalidateQueries({ queryKey: keys.erasedRows(project, object_id) }),
      ]);
      onChanged();
    },
  });
  const error = erased.error ?? remove.error;
  const gone = erased.data ?? [];
  return (
    <>
      <div className={styles['bar']}>
        <span>{count(selected.size)} selected</span>
        <Button
          disabled={selected.size === 0 || remove.isPending}
          onClick={() => remove.mutate([...selected])}
        >
          Remove from the dataset
        </Button>
        <Button onClick={() => split(true)}>Split</Button>
      </div>
      {gone.length > 0 && (
        <div className={styles['bar']} role="note">
          <span>
            {count(gone.length)}
            {gone.length >= MOST_LINES && '+'} {rowWord(gone.length)} of the dataset{' '}
            {gone.length === 1 ? 'comes' : 'come'} from a call that was deleted or erased.
          </span>
          <Button disabled={remove.isPending} onClick={() => remove.mutate(gone)}>
            Remove {gone.length === 1 ? 'it' : 'them'}
          </Button>
        </div>
      )}
      {error && <ErrorNote error={error} />}
      {isSplitting && (
        <Suspense fallback={null}>
          <SplitDataset project={project} version={version} onClose={() => split(false)} />
        </Suspense>
      )}
    </>
  );
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useId, useRef, useState } from 'react';
import { type Queue, queuesQuery } from '../api/annotation.ts';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { inputClass } from '../ui/Field.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import styles from './collect.module.css';
import {
  isWholeQueue,
  NEW_QUEUE,
  queueBody,
  type QueueDraft,
  QueueFields,
} from './QueueFields.tsx';
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

/** Adds calls to the end of a queue, or of a new one, and sets the fields that annotators see. */
export function AddToQueue({
  project,
  callIds,
  onClose,
}: {
  project: string;
  callIds: readonly string[];
  onClose: () => void;
}) {
  const queues = useQuery(queuesQuery(project));
  const [chosen, choose] = useState<string>();
  const [draft, setDraft] = useState(NEW_QUEUE);
  const sample = useSample(project, callIds);
  const [first] = sample.calls;
  const [edited, edit] = useState<readonly string[]>();
  const fields = edited ?? firstPaths(first);
  const queueId = chosen ?? firstId(queues.data);
  const add = useAdd({ project, callIds, queueId, draft, fields });
  if (add.data)
    return <AddedToQueue project={project} of={callIds.length} {...add.data} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  const isReady = queues.data !== undefined && (queueId !== '' || isWholeQueue(draft));
  const error = firstError(add, queues, sample);
  return (
    <Dialog title={`Add ${callsText(callIds.length)} to a queue`} isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        <SelectField
          label="Queue"
          value={queueId}
          options={[
            ...(queues.data ?? []).map(({ id, name }): [string, string] => [id, name]),
            ['', 'New queue'],
          ]}
          onChoose={choose}
        />
        {queueId === '' && <QueueFields project={project} draft={draft} onChange={setDraft} />}
        <ShownPaths first={first} paths={fields} onChange={edit} />
        {error && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!isReady || add.isPending}>
            Add to the queue
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

const firstId = (queues: readonly Queue[] | undefined): string => queues?.[0]?.id ?? '';

interface AddRequest {
  project: string;
  callIds: readonly string[];
  /** Empty for a new queue. */
  queueId: string;
  draft: QueueDraft;
  fields: readonly string[];
}

/** Creates a new queue if needed, then adds the calls. A retry does not create the queue again. */
function useAdd({ project, callIds, queueId, draft, fields }: AddRequest) {
  const client = useQueryClient();
  const made = useRef<string>(undefined);
  return useMutation({
    mutationFn: async () => {
      const to =
        queueId === '' && made.current === undefined
          ? (await post('/annotation_queues', { project_id: project, ...queueBody(draft) })).id
          : (made.current ?? queueId);
      if (queueId === '') made.current = to;
      const display_fields = fields.map((path) => path.trim()).filter((path) => path !== '');
      const sum = { queueId: to, added: 0, duplicates: 0 };
      for (let at = 0; at < callIds.length; at += AT_ONCE) {
        const body = {
          project_id: project,
          call_ids: callIds.slice(at, at + AT_ONCE),
          display_fields,
        };
        const path = `/annotation_queues/${encodeURIComponent(to)}/items`;
        const answer = await post('/annotation_queues/{queue_id}/items', body, { to: path });
        sum.added += answer.added_count;
        sum.duplicates += answer.duplicates;
      }
      return sum;
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.queues(project) }),
  });
}

/** Edits the paths that annotators see, each with its value in the first call. */
function ShownPaths({
  first,
  paths,
  onChange,
}: {
  first: SampleCall | undefined;
  paths: readonly string[];
  onChange: (paths: readonly string[]) => void;
}) {
  const id = useId();
  return (
    <fieldset className={styles['inner']}>
      <legend>What annotators see</legend>
      {paths.map((path, n) => (
        <div key={n} className={styles['path']}>
          <input
            className={inputClass}
            aria-label={`Field ${n + 1}`}
            list={`${id}-paths`}
            value={path}
            onChange={({ target }) => onChange(paths.with(n, target.value))}
          />
          <Button
            look="quiet"
            aria-label={`Remove the field ${n + 1}`}
            onClick={() => onChange(paths.toSpliced(n, 1))}
          >
            Remove
          </Button>
          <span className={styles['found']}>
            {first && (foundText(first, path) ?? 'not in the first call')}
          </span>
        </div>
      ))}
      <datalist id={`${id}-paths`}>
        {first && samplePaths(first).map((path) => <option key={path} value={path} />)}
      </datalist>
      <Button className={styles['start'] ?? ''} onClick={() => onChange([...paths, ''])}>
        Add a field
      </Button>
    </fieldset>
  );
}

export const callsText = (n: number): string => `${count(n)} ${n === 1 ? 'call' : 'calls'}`;

function AddedToQueue({
  project,
  queueId,
  of,
  added,
  duplicates,
  onClose,
}: {
  project: string;
  queueId: string;
  of: number;
  added: number;
  duplicates: number;
  onClose: () => void;
}) {
  const [entity, name] = project.split('/') as [string, string];
  const missing = of - added - duplicates;
  return (
    <Dialog title="Added to the queue" isOpen onClose={onClose}>
      <p role="status">
        {callsText(added)} added
        {duplicates > 0 && `, ${count(duplicates)} already in the queue`}
        {missing > 0 && `, ${count(missing)} not found`}.
      </p>
      <DialogActions>
        <Link
          to="/p/$entity/$project/queues/$queueId"
          params={{ entity, project: name, queueId }}
          search={{}}
        >
          Open the queue
        </Link>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

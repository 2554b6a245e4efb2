import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { EmptyState, ErrorNote } from '../ui/Notice.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { PlaceHold } from './PlaceHold.tsx';
import { faultAt, type Hold, isElsewhere } from './queries.ts';
import styles from './retention.module.css';

/** Lists the legal holds of a project. An admin places and releases them. */
export function Holds({
  project,
  holds,
  isAdmin,
}: {
  project: string;
  holds: readonly Hold[];
  isAdmin: boolean;
}) {
  const [sort, setSort] = useState('name');
  const [dialog, open] = useState<Hold | 'new'>();
  const close = () => open(undefined);
  return (
    <section className={styles['section']}>
      <h2>Legal holds</h2>
      {holds.length === 0 ? (
        <EmptyState title="No legal holds">
          <p>
            A hold of the project, of a trace or of a thread keeps its data: retention leaves it
            out, and deletions are refused.
          </p>
        </EmptyState>
      ) : (
        <Table
          label="Legal holds"
          rows={holds}
          rowKey={({ name }) => name}
          columns={holdColumns(project, isAdmin ? open : undefined)}
          sort={sort}
          onSort={setSort}
        />
      )}
      {isAdmin && <Button onClick={() => open('new')}>Place a hold</Button>}
      {dialog === 'new' && <PlaceHold project={project} onClose={close} />}
      {typeof dialog === 'object' && (
        <ReleaseHold project={project} hold={dialog} onClose={close} />
      )}
    </section>
  );
}

const holdColumns = (
  project: string,
  onRelease: ((hold: Hold) => void) | undefined,
): TableColumn<Hold>[] => [
  {
    name: 'name',
    title: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <span className={styles['text']}>{visible(name)}</span>,
  },
  {
    name: 'holds',
    title: 'Holds',
    cell: (hold) => (
      <span className={styles['text']}>
        <HeldPart project={project} hold={hold} />
      </span>
    ),
  },
  {
    name: 'reason',
    title: 'Reason',
    cell: ({ reason }) => <span className={styles['text']}>{visible(reason ?? '')}</span>,
  },
  { name: 'user', title: 'Placed by', sortBy: ({ user }) => user, cell: ({ user }) => user },
  {
    name: 'created_at',
    title: 'Since',
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  ...(onRelease
    ? [
        {
          name: 'release',
          title: '',
          cell: (hold: Hold) => (
            <Button aria-label={`Release ${visible(hold.name)}`} onClick={() => onRelease(hold)}>
              Release
            </Button>
          ),
        },
      ]
    : []),
];

function HeldPart({ project, hold }: { project: string; hold: Hold }) {
  const [entity, name] = project.split('/') as [string, string];
  const params = { entity, project: name };
  if (hold.trace_id !== null)
    return (
      <Link to="/p/$entity/$project/traces/$traceId" params={{ ...params, traceId: hold.trace_id }}>
        trace {visible(hold.trace_id)}
      </Link>
    );
  if (hold.thread_id !== null)
    return (
      <Link
        to="/p/$entity/$project/threads/$threadId"
        params={{ ...params, threadId: hold.thread_id }}
      >
        thread {visible(hold.thread_id)}
      </Link>
    );
  return 'the project';
}

const RELEASE_FIELDS = ['reason'];

function ReleaseHold({
  project,
  hold,
  onClose,
}: {
  project: string;
  hold: Hold;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [reason, setReason] = useState('');
  const release = useMutation({
    mutationFn: () =>
      post('/retention/release', {
        project_id: project,
        name: hold.name,
        reason: reason.trim() || null,
      }),
    onSuccess: (policy) => {
      client.setQueryData(keys.retention(project), policy);
      onClose();
    },
  });
  return (
    <Dialog title={`Release ${visible(hold.name)}?`} isOpen onClose={onClose}>
      <div className={styles['form']}>
        <p>What no other hold keeps can be deleted again, and retention erases what is due.</p>
        <Field
          label="Reason"
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          isInvalid={faultAt(release.error, 'reason') !== undefined}
          hint={faultAt(release.error, 'reason') ?? 'The audit keeps it for ever.'}
        />
        {isElsewhere(release.error, RELEASE_FIELDS) && <ErrorNote error={release.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={release.isPending} onClick={() => release.mutate()}>
            Release the hold
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

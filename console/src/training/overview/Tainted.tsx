import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { post, type Schema } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { Button } from '../../ui/Button.tsx';
import { Dialog, DialogActions } from '../../ui/Dialog.tsx';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { Field } from '../../ui/Field.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Status } from '../../ui/Status.tsx';
import { Table } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { shortId } from '../Jobs.tsx';
import { type PurgeScope, taintedQuery } from './queries.ts';
import styles from '../training.module.css';

interface ProjectParams {
  entity: string;
  project: string;
}

type Checkpoint = Schema<'TaintedCheckpointDto'>;
type Job = Schema<'TaintedJobDto'>;

const OUTCOMES: Record<Schema<'RetrainedJobDto'>['outcome'], string> = {
  queued: 'is queued',
  known: 'was queued before',
  nothing_left: 'has nothing left to train on',
};

/**
 * Lists builds, jobs and checkpoints trained on purged calls, or on calls to be purged. Jobs can be repeated without
 * them.
 */
export function Tainted(place: ProjectParams) {
  const project_id = `${place.entity}/${place.project}`;
  const [reached, reach] = useState<PurgeScope>({});
  const { data, error, refetch } = useQuery(taintedQuery(project_id, reached));
  useLive(project_id, ['models', 'jobs', 'builds'], () => refetch());
  const isAsked = Object.keys(reached).length > 0;
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Tainted">
      <PurgeForm onReach={reach} />
      {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={8} />}
      {data && (
        <>
          <p role="status">
            {isAsked
              ? 'Purging these calls would mark the following. Nothing is changed yet.'
              : 'These were trained on calls that have been purged.'}
            {data.has_more && ' There is more than this page shows.'}
          </p>
          {data.builds.length + data.jobs.length + data.checkpoints.length === 0 ? (
            <EmptyState
              title={isAsked ? 'Nothing was trained on these calls' : 'Nothing is tainted'}
            >
              <p>
                An admin purges calls with <code>/calls/purge</code>. What was trained on them is
                then marked here, and loses its aliases.
              </p>
            </EmptyState>
          ) : (
            <>
              <Checkpoints {...place} rows={data.checkpoints} />
              <Jobs {...place} rows={data.jobs} />
              <Builds {...place} rows={data.builds} />
            </>
          )}
        </>
      )}
    </div>
  );
}

/** Chooses the scope of a purge, to see its effect before it is done. */
function PurgeForm({ onReach }: { onReach: (reached: PurgeScope) => void }) {
  const [user, setUser] = useState('');
  const [calls, setCalls] = useState('');
  const call_ids = calls.split(/[\s,]+/).filter((id) => id !== '');
  const user_id = user.trim();
  const isBoth = user_id !== '' && call_ids.length > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onReach({ ...(user_id !== '' && { user_id }), ...(call_ids.length > 0 && { call_ids }) });
  };
  return (
    <form className={styles['gate']} onSubmit={submit} aria-label="Effect of a purge">
      <Field
        label="User"
        placeholder="eve"
        value={user}
        hint="The user in attributes.user_id, or else the user of the key that recorded the call."
        onChange={({ target }) => setUser(target.value)}
      />
      <Field
        label="Or calls"
        value={calls}
        isInvalid={isBoth}
        hint={isBoth ? 'Enter a user or calls, not both.' : 'Ids, with commas between them.'}
        onChange={({ target }) => setCalls(target.value)}
      />
      <Button type="submit" disabled={isBoth}>
        {user_id === '' && call_ids.length === 0
          ? 'Show what is tainted'
          : 'Show the effect of a purge'}
      </Button>
    </form>
  );
}

const taintedTime = ({ tainted_at }: { tainted_at: string | null }) =>
  tainted_at === null ? '–' : <Time at={tainted_at} />;

function Checkpoints({ entity, project, rows }: ProjectParams & { rows: readonly Checkpoint[] }) {
  const me = useMe();
  const mayRetrain = mayActAs(me, 'writer', `${entity}/${project}`);
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Checkpoints</h2>
      <Table
        label="Checkpoints"
        rows={rows}
        rowKey={({ model_id, step }) => `${model_id} ${step}`}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'checkpoint',
            title: 'Checkpoint',
            cell: ({ model_id, model, step }) =>
              model === null ? (
                `deleted:step${step}`
              ) : (
                <Link
                  to="/p/$entity/$project/training/models/$modelId/checkpoints/$step"
                  params={{ entity, project, modelId: model_id, step: String(step) }}
                >
                  {model}:step{step}
                </Link>
              ),
          },
          { name: 'aliases', title: 'Aliases', cell: ({ aliases }) => aliases.join(', ') || '–' },
          { name: 'marked', title: 'Marked', cell: taintedTime },
          {
            name: 'retrain',
            title: '',
            cell: (row) =>
              mayRetrain &&
              row.tainted_at !== null &&
              row.model !== null && <Retrain {...{ entity, project }} checkpoint={row} />,
          },
        ]}
      />
    </>
  );
}

/** Queues a new training job for a checkpoint, after a confirmation. */
function Retrain({
  entity,
  project,
  checkpoint: { model_id, model, step },
}: ProjectParams & { checkpoint: Checkpoint }) {
  const [isAsking, ask] = useState(false);
  const retrain = useMutation({
    mutationFn: () =>
      post('/lineage/retrain', { project_id: `${entity}/${project}`, model_id, step }),
  });
  const { data, error, isPending } = retrain;
  const close = () => {
    ask(false);
    retrain.reset();
  };
  return (
    <>
      <Button onClick={() => ask(true)}>Train again</Button>
      <Dialog title={`Train ${model}:step${step} again?`} isOpen={isAsking} onClose={close}>
        {data ? (
          <>
            <p>Training goes on from step {data.from_step}, which is clean.</p>
            <ul aria-label="Queued">
              {data.jobs.map(({ retrains_job_id, retrains_step, outcome, job_id }) => (
                <li key={retrains_job_id}>
                  Step {retrains_step}{' '}
                  {job_id === null ? (
                    OUTCOMES[outcome]
                  ) : (
                    <Link
                      to="/p/$entity/$project/training/jobs/$jobId"
                      params={{ entity, project, jobId: job_id }}
                    >
                      {OUTCOMES[outcome]}
                    </Link>
                  )}
                </li>
              ))}
            </ul>
            {data.has_more && <p>More jobs are needed: queue the rest as well.</p>}
          </>
        ) : (
          <p>
            This queues a job for each step from the nearest clean step to this one. Each job uses
            the recipe of its build and the remaining calls.
          </p>
        )}
        {error && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={close}>{data ? 'Close' : 'Cancel'}</Button>
          {(!data || data.has_more) && (
            <Button look="primary" disabled={isPending} onClick={() => retrain.mutate()}>
              {data ? 'Queue the rest' : 'Queue the jobs'}
            </Button>
          )}
        </DialogActions>
      </Dialog>
    </>
  );
}

function Jobs({ entity, project, rows }: ProjectParams & { rows: readonly Job[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Jobs</h2>
      <Table
        label="Jobs"
        rows={rows}
        rowKey={({ id }) => id}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'job',
            title: 'Job',
            cell: ({ id }) => (
              <Link
                to="/p/$entity/$project/training/jobs/$jobId"
                params={{ entity, project, jobId: id }}
                title={id}
              >
                <code>{shortId(id)}</code>
              </Link>
            ),
          },
          { name: 'status', title: 'Status', cell: ({ status }) => <Status status={status} /> },
          { name: 'step', title: 'Made step', isNumber: true, cell: ({ step }) => step ?? '–' },
          { name: 'marked', title: 'Marked', cell: taintedTime },
        ]}
      />
    </>
  );
}

function Builds({
  entity,
  project,
  rows,
}: ProjectParams & { rows: readonly Schema<'TaintedBuildDto'>[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Builds</h2>
      <Table
        label="Builds"
        rows={rows}
        rowKey={({ id }) => id}
        sort=""
        onSort={() => undefined}
        columns={[
          {
            name: 'recipe',
            title: 'Recipe',
            cell: ({ id, recipe_name }) => (
              <Link
                to="/p/$entity/$project/training/builds/$buildId"
                params={{ entity, project, buildId: id }}
              >
                {recipe_name}
              </Link>
            ),
          },
          {
            name: 'erased',
            title: 'Erased',
            cell: ({ erased_at }) => (erased_at === null ? '–' : <Time at={erased_at} />),
          },
          { name: 'marked', title: 'Marked', cell: taintedTime },
        ]}
      />
    </>
  );
}

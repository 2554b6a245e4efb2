import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { post } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { Problem } from '../../api/problem.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { visible } from '../../json/visible-text.ts';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/CopyButton.tsx';
import { Dialog, DialogActions } from '../../ui/Dialog.tsx';
import { count, duration } from '../../ui/format.ts';
import { EmptyState, ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { Page } from '../../ui/Page.tsx';
import { Status } from '../../ui/Status.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { Time } from '../../ui/Time.tsx';
import { type Job, modelsQuery } from '../queries.ts';
import { eventsQuery, hasEnded, jobQuery } from './queries.ts';
import { Events } from './Events.tsx';
import { shortId, jobDuration } from '../Jobs.tsx';
import { Lineage } from '../Lineage.tsx';
import { MetricCharts } from '../MetricCharts.tsx';
import { Trajectories } from '../Trajectories.tsx';
import styles from '../training.module.css';

const route = getRouteApi('/p/$entity/$project/training/jobs/$jobId');

export function JobPage() {
  const { entity, project, jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const job = useQuery(jobQuery(jobId));
  const events = useQuery(eventsQuery(job.data));
  useLive(`${entity}/${project}`, ['jobs'], async () => {
    await job.refetch();
    await events.refetch();
  });
  const steps = useMemo(
    () =>
      (events.data ?? [])
        .filter(({ type }) => type === 'gradient_step')
        .map(({ data }, n) => ({ at: n + 1, metrics: data })),
    [events.data],
  );
  const isMissing = job.error instanceof Problem && job.error.status === 404;
  return (
    <Page
      title={`Job ${shortId(jobId)}`}
      isFull
      error={isMissing ? null : (job.error ?? events.error)}
      onRetry={() => void job.refetch().then(() => events.refetch())}
      note={
        <Link
          to="/p/$entity/$project/training"
          params={{ entity, project }}
          search={{ tab: 'jobs' }}
        >
          All jobs
        </Link>
      }
      actions={
        job.data && (
          <>
            <CopyButton label="Copy id" text={jobId} />
            <Cancel job={job.data} />
          </>
        )
      }
    >
      {isMissing && <EmptyState title="No such training job" />}
      {job.isPending && <Skeleton rows={12} />}
      {job.data && (
        <>
          <Head job={job.data} />
          <div className={styles['body']}>
            <Tabs
              isFull
              value={search.tab ?? 'events'}
              onChange={(tab) => void navigate({ search: tab === 'events' ? {} : { tab } })}
              tabs={[
                {
                  value: 'events',
                  label: 'Events',
                  content: (
                    <div
                      className={styles['scroll']}
                      tabIndex={0}
                      role="region"
                      aria-label="What the trainer reports"
                    >
                      {steps.length > 0 && <MetricCharts name="Gradient step" rows={steps} />}
                      {events.data ? (
                        <Events events={events.data} isOver={hasEnded(job.data)} />
                      ) : (
                        !events.error && <Skeleton rows={8} />
                      )}
                    </div>
                  ),
                },
                {
                  value: 'trajectories',
                  label: 'Trajectories',
                  content: (
                    <Trajectories
                      modelId={job.data.model_id}
                      jobId={jobId}
                      splits={[]}
                      search={search}
                      onSearch={(next) =>
                        void navigate({ search: { tab: 'trajectories', ...next } })
                      }
                    />
                  ),
                },
                {
                  value: 'lineage',
                  label: 'Lineage',
                  content: <Lineage entity={entity} project={project} of={{ job_id: jobId }} />,
                },
              ]}
            />
          </div>
        </>
      )}
    </Page>
  );
}

function Head({ job }: { job: Job }) {
  const { entity, project } = route.useParams();
  const { data: models } = useQuery(modelsQuery(entity, project));
  const model = models?.find(({ id }) => id === job.model_id);
  const took = jobDuration(job);
  return (
    <div className={styles['head']}>
      <Status status={job.status} />
      {model ? (
        <Link
          to="/p/$entity/$project/training/models/$modelId"
          params={{ entity, project, modelId: model.id }}
        >
          {model.name}
        </Link>
      ) : (
        models && <span>its model was deleted</span>
      )}
      {job.num_groups !== null && (
        <span>
          {count(job.num_trajectories)} trajectories in {count(job.num_groups)} groups
        </span>
      )}
      {job.attempt > 1 && <span>attempt {job.attempt}</span>}
      <MadeStep job={job} />
      <span>
        created <Time at={job.created_at} />
      </span>
      {took !== null && <span>took {duration(took)}</span>}
      {job.experimental_config && (
        <code title="experimental_config">{JSON.stringify(job.experimental_config)}</code>
      )}
      {job.error_message && <p className={styles['bad']}>{job.error_message}</p>}
    </div>
  );
}

/** Shows the checkpoint that the job made, or why it made none. */
function MadeStep({ job: { checkpoint, model_id, made_step, no_step_reason } }: { job: Job }) {
  const { entity, project } = route.useParams();
  if (made_step === false)
    return (
      <p>
        The job made no checkpoint, because there was nothing to learn:{' '}
        {visible(no_step_reason ?? 'its trainer gave no reason')}
      </p>
    );
  if (!checkpoint) return null;
  return (
    <span>
      made{' '}
      <Link
        to="/p/$entity/$project/training/models/$modelId/checkpoints/$step"
        params={{ entity, project, modelId: model_id, step: String(checkpoint.step) }}
        title={checkpoint.uri ?? ''}
      >
        step {checkpoint.step}
      </Link>
    </span>
  );
}

/** Cancels a job. A running job stops at its trainer's next request. */
function Cancel({ job }: { job: Job }) {
  const client = useQueryClient();
  const me = useMe();
  const [isAsking, ask] = useState(false);
  const cancel = useMutation({
    mutationFn: () =>
      post('/v1/preview/training-jobs/{id}/cancel', undefined, {
        to: `/v1/preview/training-jobs/${job.id}/cancel`,
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: jobQuery(job.id).queryKey });
      ask(false);
    },
  });
  if (hasEnded(job) || !mayActAs(me, 'writer')) return null;
  return (
    <>
      <Button look="danger" disabled={job.cancel_requested} onClick={() => ask(true)}>
        {job.cancel_requested ? 'Cancel requested' : 'Cancel the job'}
      </Button>
      <Dialog title="Cancel this job?" isOpen={isAsking} onClose={() => ask(false)}>
        <p>
          {job.status === 'queued'
            ? 'The job ends at once, and no trainer gets it.'
            : 'The trainer is asked to stop. Its progress is lost.'}
        </p>
        {cancel.error && <ErrorNote error={cancel.error} />}
        <DialogActions>
          <Button onClick={() => ask(false)}>Keep the job</Button>
          <Button look="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel the job
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}

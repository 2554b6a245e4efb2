import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { post } from '../api/client.ts';
import { Fault } from '../ui/Fault.tsx';
import { count } from '../ui/format.ts';
import { Empty, Skeleton } from '../ui/Notice.tsx';
import { tracesQuery } from './data.ts';
import { shortId } from './Jobs.tsx';
import { makeChain } from './lineage.ts';
import styles from './training.module.css';

/** Of each kind, so many are named. */
const NAMED = 12;

/** The way from recorded calls to a checkpoint, and to the calls that this made. */
export function Lineage({
  entity,
  project,
  of,
}: {
  entity: string;
  project: string;
  of: { build_id: string } | { job_id: string };
}) {
  const project_id = `${entity}/${project}`;
  const { data, error, refetch } = useQuery({
    queryKey: ['lineage', project_id, of],
    queryFn: async ({ signal }) => {
      const answer = await post('/lineage/query', { project_id, ...of }, { signal });
      return { ...makeChain(answer.edges), hasMore: answer.has_more };
    },
  });
  const named = [...(data?.calls.slice(0, NAMED) ?? []), ...(data?.made.slice(0, NAMED) ?? [])];
  const { data: traces } = useQuery(tracesQuery(project_id, named));
  if (error) return <Fault error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={8} />;
  if (data.builds.length + data.checkpoints.length === 0)
    return (
      <Empty title="No lineage">
        <p>
          It is known of jobs that were made of a build. The groups of this one were sent from
          elsewhere, and it has made no checkpoint yet.
        </p>
      </Empty>
    );
  const params = { entity, project };
  const call = (id: string) => <CallLink key={id} {...params} id={id} traceId={traces?.get(id)} />;
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Lineage">
      <ol className={styles['chain']}>
        <Stage title="Calls" of={data.calls.length} items={data.calls.slice(0, NAMED).map(call)} />
        <Stage
          title="Feedback"
          of={data.feedback.length}
          items={data.feedback.slice(0, NAMED).map((id) => (
            <code key={id} title={id}>
              {shortId(id)}
            </code>
          ))}
        />
        <Stage
          title="Builds"
          of={data.builds.length}
          items={data.builds.slice(0, NAMED).map((id) => (
            <Link
              key={id}
              to="/p/$entity/$project/training/builds/$buildId"
              params={{ ...params, buildId: id }}
              title={id}
            >
              {shortId(id)}
            </Link>
          ))}
        />
        <Stage
          title="Jobs"
          of={data.jobs.length}
          items={data.jobs.slice(0, NAMED).map((id) => (
            <Link
              key={id}
              to="/p/$entity/$project/training/jobs/$jobId"
              params={{ ...params, jobId: id }}
              title={id}
            >
              {shortId(id)}
            </Link>
          ))}
        />
        <Stage
          title="Checkpoints"
          of={data.checkpoints.length}
          items={data.checkpoints.slice(0, NAMED).map(({ model_id, model, step }) => (
            <Link
              key={`${model_id} ${step}`}
              to="/p/$entity/$project/training/models/$modelId"
              params={{ ...params, modelId: model_id }}
            >
              {model ?? 'a deleted model'}, step {step}
            </Link>
          ))}
        />
        <Stage
          title="Calls of these"
          of={data.made.length}
          items={data.made.slice(0, NAMED).map(call)}
        />
      </ol>
      {data.hasMore && (
        <p className={styles['soft']}>There are more calls than are counted here.</p>
      )}
    </div>
  );
}

function Stage({ title, of, items }: { title: string; of: number; items: ReactNode[] }) {
  return (
    <li>
      <h2>
        {title} <small>{count(of)}</small>
      </h2>
      <ul>
        {items.map((item, n) => (
          <li key={n}>{item}</li>
        ))}
      </ul>
      {of > items.length && <small>and {count(of - items.length)} more</small>}
      {of === 0 && <small>none</small>}
    </li>
  );
}

/** A call by its id; a link where its trace is known. One that was deleted has none. */
export function CallLink({
  entity,
  project,
  id,
  traceId,
}: {
  entity: string;
  project: string;
  id: string;
  traceId: string | undefined;
}) {
  if (traceId === undefined) return <code title={id}>{shortId(id)}</code>;
  return (
    <Link
      to="/p/$entity/$project/traces/$traceId"
      params={{ entity, project, traceId }}
      search={{ call: id }}
      title={id}
    >
      {shortId(id)}
    </Link>
  );
}

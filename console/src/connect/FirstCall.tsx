import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { derivedSummary } from '../api/calls.ts';
import { useLive } from '../api/live.ts';
import { buttonClass } from '../ui/Button.tsx';
import { callDuration } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import { newestQuery } from './queries.ts';
import styles from './connect.module.css';

/** Waits for a new trace of the project, and shows it. Shows the newest older trace until then. */
export function FirstCall({ project }: { project: string }) {
  const { data, error, refetch } = useQuery(newestQuery(project));
  const seen = useRef<string | null>(null);
  useLive(project, ['calls'], () => refetch());
  if (error) return <ErrorNote error={error} />;
  if (!data)
    return (
      <p className={styles['waiting']} role="status">
        <i className={styles['pulse']} aria-hidden="true" />
        Waiting for the first call of {project}. It appears here by itself.
      </p>
    );
  const isNew = seen.current !== null && seen.current !== data.id;
  seen.current ??= data.id;
  const [entity, name] = project.split('/') as [string, string];
  const { status, latency_ms, trace_name } = derivedSummary(data);
  return (
    <div className={styles['arrived']} role="status" data-new={isNew || undefined}>
      <Status status={status} />
      <strong>{trace_name}</strong>
      <span>{callDuration({ status, latency_ms })}</span>
      <Time at={data.started_at} />
      <Link
        className={buttonClass()}
        to="/p/$entity/$project/traces"
        params={{ entity, project: name }}
      >
        Open traces
      </Link>
    </div>
  );
}

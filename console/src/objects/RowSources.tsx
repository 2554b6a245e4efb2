import { Link } from '@tanstack/react-router';
import { visible } from '../json/visible-text.ts';
import { Time } from '../ui/Time.tsx';
import type { RowSource } from './queries.ts';
import styles from './objects.module.css';

/** Shows the call that a row was made from, with time and user. A row of several calls shows the first one. */
export function RowSources({
  project,
  sources,
}: {
  project: string;
  sources: RowSource[] | undefined;
}) {
  const [entity, name] = project.split('/') as [string, string];
  const [first, ...others] = sources ?? [];
  if (!first) return null;
  const isErased = sources!.some(({ erased }) => erased);
  return (
    <span className={styles['source']}>
      {isErased && <strong className={styles['erased']}>erased</strong>}
      <Link
        to="/p/$entity/$project/traces/$traceId"
        params={{ entity, project: name, traceId: first.trace_id }}
        search={{ call: first.call_id }}
        title={first.call_id}
      >
        call {first.call_id.slice(-8)}
      </Link>
      <Time at={first.added_at} />
      <span>{visible(first.added_by)}</span>
      {others.length > 0 && (
        <span title={others.map(({ call_id }) => call_id).join('\n')}>
          and {others.length} more {others.length === 1 ? 'call' : 'calls'}
        </span>
      )}
    </span>
  );
}

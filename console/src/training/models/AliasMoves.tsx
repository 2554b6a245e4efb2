import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useLive } from '../../api/live.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { visible } from '../../json/visible-text.ts';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { number } from '../../ui/format.ts';
import { EmptyState, Skeleton } from '../../ui/Notice.tsx';
import { Table } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { MoveCurrent } from './MoveCurrent.tsx';
import { aliasesQuery, CURRENT, type Move } from './queries.ts';
import styles from '../training.module.css';

/** Shows the history of a model's aliases, newest move first. Every earlier step can be restored. */
export function AliasMoves({
  entity,
  project,
  modelId,
}: {
  entity: string;
  project: string;
  modelId: string;
}) {
  const project_id = `${entity}/${project}`;
  const me = useMe();
  const { data, error, refetch } = useQuery(aliasesQuery(project_id, modelId));
  useLive(project_id, ['models'], () => refetch());
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={4} />;
  if (data.history.length === 0)
    return (
      <EmptyState title="No promotions yet">
        <p>
          Open a checkpoint, compare it with the one before, and promote it. It then answers
          requests for the model as <code>:current</code>.
        </p>
      </EmptyState>
    );
  const current = data.aliases.find(({ alias }) => alias === CURRENT)?.step;
  const isOffered = offeredMoves(data.history, current);
  return (
    <section className={styles['panel']}>
      <h2>Promotions</h2>
      <div className={styles['wide']}>
        <Table
          label="Promotions"
          rows={data.history.map((move, n) => ({ ...move, n }))}
          rowKey={({ n }) => String(n)}
          sort=""
          onSort={() => undefined}
          columns={[
            {
              name: 'how',
              title: 'How',
              cell: (move) => <span title={moveText(move)}>{moveText(move)}</span>,
            },
            { name: 'alias', title: 'Alias', cell: ({ alias }) => alias },
            {
              name: 'to',
              title: 'To step',
              isNumber: true,
              cell: ({ step }) =>
                step === null ? (
                  'none'
                ) : (
                  <Link
                    to="/p/$entity/$project/training/models/$modelId/checkpoints/$step"
                    params={{ entity, project, modelId, step: String(step) }}
                  >
                    {step}
                  </Link>
                ),
            },
            {
              name: 'from',
              title: 'From step',
              isNumber: true,
              cell: ({ previous_step }) => previous_step ?? 'none',
            },
            { name: 'by', title: 'Moved by', cell: ({ moved_by }) => visible(moved_by) },
            { name: 'at', title: 'Time', cell: ({ moved_at }) => <Time at={moved_at} /> },
            {
              name: 'back',
              title: '',
              cell: ({ n, step }) =>
                step !== null &&
                isOffered.has(n) &&
                mayActAs(me, 'writer', project_id) && (
                  <MoveCurrent entity={entity} project={project} modelId={modelId} step={step}>
                    Roll back to {step}
                  </MoveCurrent>
                ),
            },
          ]}
        />
      </div>
    </section>
  );
}

/** Indexes of the moves that can be restored: the newest move of each step that was current before. */
function offeredMoves(history: readonly Move[], current: number | undefined): Set<number> {
  const steps = new Map<number, number>();
  history.forEach(({ alias, step }, n) => {
    if (alias === CURRENT && step !== null && step !== current && !steps.has(step))
      steps.set(step, n);
  });
  return new Set(steps.values());
}

function moveText({ by_hand, gate, reason }: Move): string {
  if (reason !== null) return visible(reason);
  if (by_hand || gate === null) return 'by hand';
  const { difference, p_value, test } = gate.statistics;
  return `gate passed: ${gate.rows_paired} rows, difference ${number(difference)}, p ${number(p_value)}, ${test}`;
}

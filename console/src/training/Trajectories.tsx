import { useQuery } from '@tanstack/react-query';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { inputClass } from '../ui/Field.tsx';
import { count, number } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { firstWords, TrajectoryView } from './TrajectoryView.tsx';
import { type StoredTrajectory, TRAJECTORIES, trajectoriesQuery } from './queries.ts';
import { type Order, ORDERS, type TrajectoriesSearch } from './search.ts';
import styles from './training.module.css';

export function Trajectories({
  modelId,
  jobId,
  splits,
  search,
  onSearch,
}: {
  modelId: string;
  jobId?: string;
  splits: readonly string[];
  search: TrajectoriesSearch;
  onSearch: (search: TrajectoriesSearch) => void;
}) {
  const { split, step, sort, page = 1, read } = search;
  const { data, error, isPlaceholderData, refetch } = useQuery(
    trajectoriesQuery({ model_id: modelId, job_id: jobId }, search),
  );
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={12} />;
  const rows = data.slice(0, TRAJECTORIES);
  const shown = rows.find(({ kept }) => kept.id === read) ?? rows[0];
  const choose = (next: TrajectoriesSearch) => {
    const { page: _, read: _read, ...rest } = { ...search, ...next };
    onSearch(rest);
  };
  return (
    <div className={styles['columns']}>
      <nav aria-label="Trajectories" className={`${controls['choices']} ${styles['list']}`}>
        <div className={styles['bar']}>
          {splits.length > 0 && (
            <select
              aria-label="Split"
              className={inputClass}
              value={split ?? ''}
              onChange={({ target }) => {
                const { split: _, page: _page, read: _read, ...rest } = search;
                onSearch(target.value === '' ? rest : { ...rest, split: target.value });
              }}
            >
              <option value="">All splits</option>
              {splits.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
          <select
            aria-label="Order"
            className={inputClass}
            value={sort ?? ''}
            onChange={({ target }) => {
              const { sort: _, page: _page, read: _read, ...rest } = search;
              onSearch(target.value === '' ? rest : { ...rest, sort: target.value as Order });
            }}
          >
            <option value="">By group</option>
            {Object.entries(ORDERS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {step !== undefined && (
            <Button
              title="Show trajectories of all steps"
              onClick={() => {
                const { step: _, ...rest } = search;
                choose(rest);
              }}
            >
              Step {step} ×
            </Button>
          )}
        </div>
        <ol aria-busy={isPlaceholderData}>
          {rows.map(({ kept }) => (
            <li key={kept.id}>
              <button
                type="button"
                aria-current={kept === shown?.kept ? 'true' : undefined}
                onClick={() => onSearch({ ...search, read: kept.id })}
              >
                <strong>{reward(kept)}</strong>
                <span>
                  {kept.split && `${visible(kept.split)} · `}group {kept.group_index + 1} · step{' '}
                  {kept.step}
                </span>
                <span>{visible(firstWords(kept))}</span>
                <span>{kept.num_tokens > 0 && `${count(kept.num_tokens)} tokens`}</span>
              </button>
            </li>
          ))}
        </ol>
        {(page > 1 || data.length > TRAJECTORIES) && (
          <div className={styles['bar']}>
            <Button
              disabled={page <= 1}
              onClick={() => onSearch({ ...without(search), ...(page > 2 && { page: page - 1 }) })}
            >
              Previous
            </Button>
            <span>Page {page}</span>
            <Button
              disabled={data.length <= TRAJECTORIES}
              onClick={() => onSearch({ ...without(search), page: page + 1 })}
            >
              Next
            </Button>
          </div>
        )}
      </nav>
      {shown ? (
        <TrajectoryView
          key={shown.kept.id}
          id={shown.kept.id}
          trajectory={shown.kept}
          text={shown.text}
        />
      ) : (
        <EmptyState title="No trajectories here">
          <p>
            Trajectories come from training jobs, and from groups sent to{' '}
            <code>/v1/preview/models/…/log</code>.
          </p>
        </EmptyState>
      )}
    </div>
  );
}

const reward = ({ reward: value }: StoredTrajectory) =>
  typeof value === 'number' ? number(value) : '–';

function without(search: TrajectoriesSearch): TrajectoriesSearch {
  const { page: _, read: _read, ...rest } = search;
  return rest;
}

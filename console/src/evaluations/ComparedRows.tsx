import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Button } from '../ui/Button.tsx';
import { inputClass } from '../ui/Field.tsx';
import { Fault } from '../ui/Fault.tsx';
import { count } from '../ui/format.ts';
import { Empty, Skeleton } from '../ui/Notice.tsx';
import { ComparedRow } from './ComparedRow.tsx';
import type { Side } from './ComparePage.tsx';
import { ROWS, rowsQuery } from './rows.ts';
import { type Comparison, scoreName } from './scores.ts';
import type { CompareSearch } from './search.ts';
import styles from './evaluations.module.css';

/** The rows of the runs, page by page: those first in which a score differs most. */
export function ComparedRows({
  project,
  sides,
  comparisons,
  search,
  onSearch,
}: {
  project: string;
  sides: readonly Side[];
  comparisons: readonly Comparison[];
  search: CompareSearch;
  onSearch: (search: CompareSearch) => void;
}) {
  const scores = distinctScores(comparisons);
  const score = scores.find((one) => scoreName(one) === search.score) ?? scores[0];
  const worse = score && worseRows(comparisons, scoreName(score), search.worse);
  const { page = 1 } = search;
  const ids = sides.map(({ run }) => run.id);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...rowsQuery({ project, ids, score, page, worse }),
    placeholderData: keepPreviousData,
  });
  const { page: _, worse: _worse, ...rest } = search;
  const turn = (to: number) => {
    const { page: _page, ...same } = search;
    onSearch(to <= 1 ? same : { ...same, page: to });
  };
  const last = Math.max(1, Math.ceil((data?.total ?? 0) / ROWS));
  return (
    <section aria-label="Rows">
      <div className={styles['bar']}>
        <h2>Rows</h2>
        <label>
          Score{' '}
          <select
            className={inputClass}
            value={score ? scoreName(score) : ''}
            onChange={({ target }) => onSearch({ ...rest, score: target.value })}
          >
            {!score && <option value="">none</option>}
            {scores.map((one) => (
              <option key={scoreName(one)} value={scoreName(one)}>
                {scoreName(one)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Show{' '}
          <select
            className={inputClass}
            value={worse?.id ?? ''}
            onChange={({ target }) =>
              onSearch(target.value === '' ? rest : { ...rest, worse: target.value })
            }
          >
            <option value="">all rows, the most different first</option>
            {sides.slice(1).map(({ letter, run }) => (
              <option key={run.id} value={run.id}>
                only rows that got worse in {letter}
              </option>
            ))}
          </select>
        </label>
        <span className={styles['space']} />
        {data && (
          <span role="status">
            {count(data.total)} rows{last > 1 && `, page ${page} of ${count(last)}`}
          </span>
        )}
        <Button disabled={page <= 1} onClick={() => turn(page - 1)}>
          Previous
        </Button>
        <Button disabled={page >= last} onClick={() => turn(page + 1)}>
          Next
        </Button>
      </div>
      {error && <Fault error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={12} />}
      {data?.rows.length === 0 && (
        <Empty title="No rows">
          <p>{worse ? 'No row got worse for this score.' : 'The runs have no trials yet.'}</p>
        </Empty>
      )}
      <ol className={styles['rows']} aria-busy={isPlaceholderData}>
        {data?.rows.map((row) => (
          <ComparedRow
            key={row.digest}
            project={project}
            sides={sides}
            row={row}
            score={score}
          />
        ))}
      </ol>
      {data?.isCut && (
        <p className={styles['soft']}>
          Only the rows that differ most were looked at; there are more that got worse by less.
        </p>
      )}
    </section>
  );
}

/** The scores of all comparisons, each once. */
function distinctScores(comparisons: readonly Comparison[]) {
  const all = comparisons.flatMap(({ scores }) => scores);
  return [...new Map(all.map((score) => [scoreName(score), score])).values()];
}

/** The run that is asked for with how many rows are worse in it; without one, all rows are asked for. */
function worseRows(
  comparisons: readonly Comparison[],
  name: string,
  id: string | undefined,
): { id: string; count: number } | undefined {
  const comparison = comparisons.find((one) => one.evaluation_call_id === id);
  if (!comparison) return undefined;
  const score = comparison.scores.find((one) => scoreName(one) === name);
  return { id: id!, count: score?.rows_down ?? 0 };
}

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { inputClass } from '../ui/Field.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { RowPager } from '../ui/RowPager.tsx';
import { ComparedRow } from './ComparedRow.tsx';
import type { ComparedRun } from './runs.ts';
import { rowsQuery } from './queries.ts';
import { ROWS, type RowsRequest, type RowsPage } from './rows.ts';
import { type ComparedScore, type Comparison, scoreName } from './scores.ts';
import type { CompareSearch } from './search.ts';
import styles from './evaluations.module.css';

/** Lists the rows of the runs in pages. Rows whose score differs most come first. */
export function ComparedRows({
  project,
  sides,
  comparisons,
  search,
  onSearch,
}: {
  project: string;
  sides: readonly ComparedRun[];
  comparisons: readonly Comparison[];
  search: CompareSearch;
  onSearch: (search: CompareSearch) => void;
}) {
  const scores = distinctScores(comparisons);
  const score = scores.find((one) => scoreName(one) === search.score) ?? scores[0];
  const isLowGood = score !== undefined && search.low === scoreName(score);
  const worse =
    score && worseRows(comparisons, { name: scoreName(score), isLowGood }, search.worse);
  const { page = 1 } = search;
  const asked = { project, ids: sides.map(({ run }) => run.id), score, isLowGood, page, worse };
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...rowsQuery(asked),
    placeholderData: keepPreviousData,
  });
  const { page: _, worse: _worse, ...rest } = search;
  const turn = (to: number) => {
    const { page: _page, ...same } = search;
    onSearch(to <= 1 ? same : { ...same, page: to });
  };
  return (
    <section aria-label="Rows">
      <div className={styles['bar']}>
        <h2>Rows</h2>
        <Choices
          sides={sides}
          scores={scores}
          score={score}
          worse={worse?.id}
          isLowGood={isLowGood}
          search={rest}
          onSearch={onSearch}
        />
        <span className={styles['space']} />
        {data && <RowPager total={data.total} rowsPerPage={ROWS} page={page} onTurn={turn} />}
      </div>
      {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={12} />}
      {data && <RowList data={data} isBusy={isPlaceholderData} asked={asked} sides={sides} />}
    </section>
  );
}

function RowList({
  data,
  isBusy,
  asked,
  sides,
}: {
  data: RowsPage;
  /** The rows are still those of the previous page. */
  isBusy: boolean;
  asked: RowsRequest;
  sides: readonly ComparedRun[];
}) {
  return (
    <>
      {data.rows.length === 0 && (
        <EmptyState title="No rows">
          <p>{asked.worse ? 'No row got worse for this score.' : 'The runs have no trials yet.'}</p>
        </EmptyState>
      )}
      <ol className={styles['rows']} aria-busy={isBusy}>
        {data.rows.map((row) => (
          <ComparedRow
            key={row.digest}
            project={asked.project}
            sides={sides}
            row={row}
            score={asked.score}
            isLowGood={asked.isLowGood}
          />
        ))}
      </ol>
      {data.isCut && (
        <p className={styles['soft']}>
          Only the rows that differ most were compared. Other rows got worse too, but by less.
        </p>
      )}
    </>
  );
}

function Choices({
  sides,
  scores,
  score,
  worse,
  isLowGood,
  search,
  onSearch,
}: {
  sides: readonly ComparedRun[];
  scores: readonly ComparedScore[];
  score: ComparedScore | undefined;
  worse: string | undefined;
  isLowGood: boolean;
  search: CompareSearch;
  onSearch: (search: CompareSearch) => void;
}) {
  return (
    <>
      <label>
        Score{' '}
        <select
          className={inputClass}
          value={score ? scoreName(score) : ''}
          onChange={({ target }) => onSearch({ ...search, score: target.value })}
        >
          {!score && <option value="">none</option>}
          {scores.map((one) => (
            <option key={scoreName(one)} value={scoreName(one)}>
              {scoreName(one)}
            </option>
          ))}
        </select>
      </label>
      {score && (
        <label>
          Better is{' '}
          <select
            className={inputClass}
            value={isLowGood ? 'low' : 'high'}
            onChange={({ target }) => {
              const { low: _low, ...others } = search;
              const chosen = target.value === 'low' ? { low: scoreName(score) } : {};
              onSearch({ ...others, ...chosen, ...(worse !== undefined && { worse }) });
            }}
          >
            <option value="high">higher</option>
            <option value="low">lower</option>
          </select>
        </label>
      )}
      <label>
        Show{' '}
        <select
          className={inputClass}
          value={worse ?? ''}
          onChange={({ target }) =>
            onSearch(target.value === '' ? search : { ...search, worse: target.value })
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
    </>
  );
}

function distinctScores(comparisons: readonly Comparison[]) {
  const all = comparisons.flatMap(({ scores }) => scores);
  return [...new Map(all.map((score) => [scoreName(score), score])).values()];
}

/** The run that the list of worse rows is limited to, with their number. Undefined lists all rows. */
function worseRows(
  comparisons: readonly Comparison[],
  { name, isLowGood }: { name: string; isLowGood: boolean },
  id: string | undefined,
): { id: string; count: number } | undefined {
  const comparison = comparisons.find((one) => one.evaluation_call_id === id);
  if (!comparison) return undefined;
  const score = comparison.scores.find((one) => scoreName(one) === name);
  return { id: id!, count: (isLowGood ? score?.rows_up : score?.rows_down) ?? 0 };
}

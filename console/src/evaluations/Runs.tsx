import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Button, buttonClass } from '../ui/Button.tsx';
import { inputClass } from '../ui/Field.tsx';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { count, duration, money } from '../ui/format.ts';
import { Status } from '../ui/Status.tsx';
import { Table, type TableColumn } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { resultsQuery } from './queries.ts';
import { RunCharts } from './RunCharts.tsx';
import { refVersion, type EvaluationRun, runLatency, runName, runTitle } from './runs.ts';
import { findScore, NUMBER, RATE, type RunRow, scoreName, scoreValue } from './scores.ts';
import { type EvaluationsSearch, MOST_RUNS } from './search.ts';
import styles from './evaluations.module.css';

/** Runs that are shown at first. The reader can show more. */
const FIRST = 40;
/** Scores that have a column. Each can be chosen for the chart. */
const MOST_SCORES = 8;

export function Runs({
  project,
  runs,
  search,
  onSearch,
}: {
  project: string;
  /** Newest first. */
  runs: readonly EvaluationRun[];
  search: EvaluationsSearch;
  onSearch: (search: EvaluationsSearch) => void;
}) {
  const [isWhole, showWhole] = useState(false);
  const shown = useMemo(() => (isWhole ? runs : runs.slice(0, FIRST)), [runs, isWhole]);
  const { data, error, refetch } = useQuery({
    ...resultsQuery(project, shown),
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(
    () =>
      shown.map((run, index): RunRow => ({
        run,
        number: runs.length - index,
        results: data?.get(run.id),
      })),
    [shown, runs.length, data],
  );
  const scores = useMemo(() => scoreNames(rows), [rows]);
  const score = search.score ?? scores[0];
  const chosen = search.runs ?? [];
  const choose = (id: string, isChosen: boolean) => {
    const { runs: _, ...rest } = search;
    const ids = isChosen ? [...chosen, id] : chosen.filter((one) => one !== id);
    onSearch(ids.length > 0 ? { ...rest, runs: ids } : rest);
  };
  return (
    <section className={styles['scroll']} aria-label="Runs">
      {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
      <div className={styles['bar']}>
        <label>
          Score{' '}
          <select
            className={inputClass}
            value={score ?? ''}
            onChange={({ target }) => onSearch({ ...search, score: target.value })}
          >
            {score === undefined && <option value="">none yet</option>}
            {[...new Set([...scores, ...(score === undefined ? [] : [score])])].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <span className={styles['space']} />
        <CompareLink project={project} runs={runs} chosen={chosen} score={score} />
      </div>
      <RunCharts rows={rows} score={score} />
      <div className={styles['wide']} tabIndex={0} role="region" aria-label="Table of runs">
        <Table
          label="Runs"
          rows={rows}
          rowKey={({ run }) => run.id}
          columns={runColumns(project, scores.slice(0, MOST_SCORES), chosen, choose)}
          sort={search.sort ?? '-started'}
          onSort={(sort) => onSearch({ ...search, sort })}
        />
      </div>
      {shown.length < runs.length && (
        <Button onClick={() => showWhole(true)}>Show {runs.length - shown.length} more runs</Button>
      )}
    </section>
  );
}

/** Links to the comparison of the chosen runs, with the oldest one as the baseline. */
function CompareLink({
  project,
  runs,
  chosen,
  score,
}: {
  project: string;
  runs: readonly EvaluationRun[];
  chosen: readonly string[];
  score: string | undefined;
}) {
  const [entity, name] = project.split('/') as [string, string];
  if (chosen.length < 2)
    return <Button disabled>Choose 2 to {MOST_RUNS} runs to compare them</Button>;
  const oldestFirst = runs.toReversed().flatMap(({ id }) => (chosen.includes(id) ? [id] : []));
  const others = chosen.filter((id) => !oldestFirst.includes(id));
  return (
    <Link
      to="/p/$entity/$project/evaluations/compare"
      params={{ entity, project: name }}
      search={{ runs: [...oldestFirst, ...others], ...(score !== undefined && { score }) }}
      className={buttonClass('primary')}
    >
      Compare {chosen.length} runs
    </Link>
  );
}

/** The names of all scores, in the order of the newest run. */
function scoreNames(rows: readonly RunRow[]): string[] {
  const names = new Set<string>();
  for (const { results } of rows)
    for (const stat of results?.scorer_stats ?? [])
      if (scoreValue(stat)) names.add(scoreName(stat));
  return [...names];
}

function runColumns(
  project: string,
  scores: readonly string[],
  chosen: readonly string[],
  onChoose: (id: string, isChosen: boolean) => void,
): TableColumn<RunRow>[] {
  const [entity, name] = project.split('/') as [string, string];
  const number = (
    column: string,
    title: string,
    value: (row: RunRow) => number | null,
    print: (value: number | null) => string,
  ): TableColumn<RunRow> => ({
    name: column,
    title,
    isNumber: true,
    sortBy: value,
    cell: (row) => print(value(row)),
  });
  return [
    {
      name: 'model',
      title: 'Model',
      sortBy: ({ run }) => runName(run),
      cell: ({ run, number: at }) => (
        <label title={runTitle(run)} className={styles['choice']}>
          <input
            type="checkbox"
            checked={chosen.includes(run.id)}
            disabled={chosen.length >= MOST_RUNS && !chosen.includes(run.id)}
            onChange={({ target }) => onChoose(run.id, target.checked)}
          />
          {runName(run)} <small>run {at}</small>
        </label>
      ),
    },
    {
      name: 'version',
      title: 'Evaluation',
      cell: ({ run }) => (
        <code title={run.evaluation ?? ''}>{run.evaluation && refVersion(run.evaluation)}</code>
      ),
    },
    {
      name: 'started',
      title: 'Started',
      sortBy: ({ run }) => Date.parse(run.startedAt),
      cell: ({ run }) => <Time at={run.startedAt} />,
    },
    { name: 'status', title: 'Status', cell: ({ run }) => <Status status={run.status} /> },
    ...scores.map((score): TableColumn<RunRow> => ({
      name: `score ${score}`,
      title: score,
      isNumber: true,
      sortBy: (row) => findScore(row, score)?.value ?? null,
      cell: (row) => <Score row={row} score={score} />,
    })),
    number('latency', 'Latency', ({ run }) => runLatency(run), duration),
    number('tokens', 'Tokens', ({ results }) => results?.predict_total_tokens ?? null, count),
    number('cost', 'Cost', ({ results }) => results?.predict_total_cost ?? null, money),
    {
      name: 'trace',
      title: 'Trace',
      cell: ({ run }) => (
        <Link
          to="/p/$entity/$project/traces/$traceId"
          params={{ entity, project: name, traceId: run.traceId }}
          search={{ call: run.id }}
          aria-label={`Trace of ${runName(run)}`}
        >
          Trace
        </Link>
      ),
    },
  ];
}

function Score({ row, score }: { row: RunRow; score: string }) {
  const found = findScore(row, score);
  if (!found) return '–';
  const { value, n, isRate } = found;
  return (
    <span title={`${n} of ${row.results!.trial_count} trials have this score`}>
      {(isRate ? RATE : NUMBER).value(value)} <small>n {count(n)}</small>
    </span>
  );
}

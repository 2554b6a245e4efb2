import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useLive } from '../api/live.ts';
import { noteProject } from '../api/recent-projects.ts';
import { Button, buttonClass } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { ExportButton } from '../ui/ExportButton.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Time } from '../ui/Time.tsx';
import { Runs } from './Runs.tsx';
import { isRun, runsQuery } from './queries.ts';
import { evaluationName, type EvaluationRun } from './runs.ts';
import type { EvaluationsSearch } from './search.ts';
import styles from './evaluations.module.css';

const route = getRouteApi('/p/$entity/$project/evaluations');

export function EvaluationsPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const query = useInfiniteQuery(runsQuery(project));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = query;
  useLive(project, ['calls'], () => {
    if (data?.pages.length === 1) return refetch();
  });
  const evaluations = useMemo(() => runsByEvaluation(data?.pages.flat() ?? []), [data]);
  const shown = search.evaluation ?? evaluations[0]?.name;
  const runs = evaluations.find((one) => one.name === shown)?.runs;
  const set = (next: EvaluationsSearch) => void navigate({ search: next });
  return (
    <Page
      title="Evaluations"
      isFull
      error={error}
      onRetry={() => void refetch()}
      actions={
        <>
          <ExportButton
            request={{ project_id: project, of: 'calls', filter: isRun(project) }}
            name={`${project}-runs`}
          />
          <Link
            to="/p/$entity/$project/evaluations/leaderboards"
            params={{ entity, project: name }}
            className={buttonClass()}
          >
            Leaderboards
          </Link>
        </>
      }
    >
      {query.isPending && <Skeleton rows={12} />}
      {data && evaluations.length === 0 && (
        <EmptyState title="No evaluations">
          <p>
            An evaluation runs a model over the rows of a dataset and scores its outputs:{' '}
            <code>weave.Evaluation</code> records one, and so does{' '}
            <code>POST /v2/{project}/evaluation_runs</code>.
          </p>
        </EmptyState>
      )}
      {evaluations.length > 0 && (
        <div className={styles['columns']}>
          <nav aria-label="Evaluations" className={controls['choices']}>
            <ol>
              {evaluations.map((one) => (
                <li key={one.name}>
                  <button
                    type="button"
                    aria-current={one.name === shown ? 'true' : undefined}
                    onClick={() => set({ evaluation: one.name })}
                  >
                    <strong title={one.name}>{one.name}</strong>
                    <span>{one.runs.length === 1 ? '1 run' : `${one.runs.length} runs`}</span>
                    <Time at={one.runs[0]!.startedAt} />
                  </button>
                </li>
              ))}
            </ol>
            {hasNextPage && (
              <Button disabled={isFetching} onClick={() => void fetchNextPage()}>
                Show older runs{' '}
              </Button>
            )}
          </nav>
          {runs ? (
            <Runs key={shown} project={project} runs={runs} search={search} onSearch={set} />
          ) : (
            <EmptyState title="No such evaluation">
              <p>The runs that are loaded here have none of this evaluation. Older runs may.</p>
            </EmptyState>
          )}
        </div>
      )}
    </Page>
  );
}

/** Groups runs by evaluation, latest run first. `runs` must be sorted newest first; the groups keep that order. */
function runsByEvaluation(
  runs: readonly EvaluationRun[],
): { name: string; runs: EvaluationRun[] }[] {
  const evaluations = new Map<string, EvaluationRun[]>();
  for (const run of runs) {
    const name = evaluationName(run);
    const known = evaluations.get(name);
    if (known) known.push(run);
    else evaluations.set(name, [run]);
  }
  return Array.from(evaluations, ([name, its]) => ({ name, runs: its }));
}

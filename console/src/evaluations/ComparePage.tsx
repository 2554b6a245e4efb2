import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteProject } from '../api/recent-projects.ts';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Comparisons } from './Comparisons.tsx';
import { ComparedRows } from './ComparedRows.tsx';
import { chosenRunsQuery, comparedQuery } from './queries.ts';
import { type ComparedRun, evaluationName, runName, runTitle } from './runs.ts';
import type { CompareSearch } from './search.ts';
import styles from './evaluations.module.css';

const route = getRouteApi('/p/$entity/$project/evaluations/compare');

const LETTERS = 'ABCDE';

/** Compares runs with the first one: scores with tests, then row by row. */
export function ComparePage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => noteProject(project), [project]);
  const ids = search.runs;
  const isEnough = ids.length >= 2;
  const chosen = useQuery({ ...chosenRunsQuery(project, ids), enabled: isEnough });
  const compared = useQuery({ ...comparedQuery(project, ids), enabled: isEnough });
  const set = (next: CompareSearch) => void navigate({ search: next });
  const runs = chosen.data;
  const sides = runs?.map((run, index): ComparedRun => ({ letter: LETTERS[index]!, run }));
  const error = chosen.error ?? compared.error;
  const first = runs?.[0];
  return (
    <Page
      title="Compare runs"
      error={error}
      onRetry={() => void Promise.all([chosen.refetch(), compared.refetch()])}
      note={
        <Link
          to="/p/$entity/$project/evaluations"
          params={{ entity, project: name }}
          search={{ ...(first && { evaluation: evaluationName(first) }), runs: ids }}
        >
          All runs
        </Link>
      }
    >
      {!isEnough && (
        <EmptyState title="Nothing to compare">
          <p>Choose two or more runs on the page Evaluations.</p>
        </EmptyState>
      )}
      {isEnough && !error && !(sides && compared.data) && <Skeleton rows={16} />}
      {sides && compared.data && (
        <div className={styles['body']}>
          <Sides sides={sides} onBaseline={(id) => set(withBaseline(search, id))} />
          <Comparisons sides={sides} compared={compared.data} />
          <ComparedRows
            project={project}
            sides={sides}
            comparisons={compared.data.comparisons}
            search={search}
            onSearch={set}
          />
        </div>
      )}
    </Page>
  );
}

/** Makes another run the baseline. `worse` is dropped, because it depends on the baseline. */
function withBaseline({ runs, score, low }: CompareSearch, id: string): CompareSearch {
  return {
    runs: [id, ...runs.filter((one) => one !== id)],
    ...(score !== undefined && { score }),
    ...(low !== undefined && { low }),
  };
}

function Sides({
  sides,
  onBaseline,
}: {
  sides: readonly ComparedRun[];
  onBaseline: (id: string) => void;
}) {
  return (
    <ul className={styles['sides']} aria-label="Runs">
      {sides.map(({ letter, run }, index) => (
        <li key={run.id} title={runTitle(run)}>
          <strong>{letter}</strong> {visible(runName(run))}{' '}
          <small>{visible(evaluationName(run))}</small>
          {index === 0 ? (
            <small>the baseline</small>
          ) : (
            <Button aria-label={`Make baseline: ${letter}`} onClick={() => onBaseline(run.id)}>
              Make baseline
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

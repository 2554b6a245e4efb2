import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Chart, type Series } from '../ui/Chart.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { type Scores, scoresQuery } from './queries.ts';
import type { MetricsSearch } from './search.ts';
import styles from './metrics.module.css';

interface Zoom {
  onZoom: (from: number, to: number) => void;
}

/** Draws numeric feedback of people and scorers over time, grouped by name. Empty without numbers. */
export function ScoreCharts({
  project,
  search,
  onZoom,
}: { project: string; search: MetricsSearch } & Zoom) {
  const { data, error } = useQuery({
    ...scoresQuery(project, search),
    placeholderData: keepPreviousData,
  });
  if (error) return <ErrorNote error={error} />;
  if (!data || data.length === 0) return null;
  return (
    <section aria-label="Scores" className={styles['body']}>
      <h2>Scores</h2>
      <div className={styles['charts']}>
        {data.map((scores) => (
          <ScoreChart key={scores.name} scores={scores} onZoom={onZoom} />
        ))}
      </div>
    </section>
  );
}

function ScoreChart({ scores, onZoom }: { scores: Scores } & Zoom) {
  const series = useMemo(
    () =>
      scores.paths.map(({ path, values, whole }, n): Series => ({
        label: path,
        colour: `--series-${n + 1}`,
        values,
        whole: score(whole),
      })),
    [scores],
  );
  return (
    <Chart
      title={scores.name}
      buckets={scores}
      series={series}
      look="lines"
      format={score}
      onZoom={onZoom}
    />
  );
}

const score = (value: number | null): string =>
  value === null ? '–' : Number(value.toPrecision(3)).toLocaleString('en-US');

import { useMemo } from 'react';
import { Chart } from '../ui/Chart.tsx';
import { count, duration, money, number } from '../ui/format.ts';
import { runLatency } from './runs.ts';
import { findScore, percent, type RunRow } from './scores.ts';
import styles from './evaluations.module.css';

/** Draws a score, cost, latency and tokens over runs, oldest first. Charts without any value are left out. */
export function RunCharts({ rows, score }: { rows: readonly RunRow[]; score: string | undefined }) {
  const ordered = useMemo(() => rows.toReversed(), [rows]);
  const buckets = useMemo(() => {
    const starts = ordered.map((row) => row.number);
    return { starts, until: (starts.at(-1) ?? 0) + (starts.length > 1 ? 0 : 1), name: 'run' };
  }, [ordered]);
  const charts = useMemo(() => {
    const scored = ordered.map((row) => (score === undefined ? null : findScore(row, score)));
    const isRate = scored.some((one) => one?.isRate);
    const measures: [string, (number | null)[], (value: number | null) => string][] = [
      [score ?? 'Score', scored.map((one) => one?.value ?? null), isRate ? percent : number],
      ['Cost', ordered.map(({ results }) => results?.predict_total_cost ?? null), money],
      ['Latency', ordered.map(({ run }) => runLatency(run)), duration],
      ['Tokens', ordered.map(({ results }) => results?.predict_total_tokens ?? null), count],
    ];
    const known = measures.filter(([, values]) => values.some((value) => value !== null));
    return known.map(([title, values, format], n) => {
      const whole = format(values.findLast((value) => value !== null) ?? null);
      const series = [{ label: title, colour: `--series-${n + 1}`, values, whole }];
      return { title, format, series };
    });
  }, [ordered, score]);
  return (
    <div className={styles['charts']}>
      {charts.map(({ title, format, series }) => (
        <Chart
          key={title}
          title={title}
          buckets={buckets}
          series={series}
          look="lines"
          format={format}
        />
      ))}
    </div>
  );
}

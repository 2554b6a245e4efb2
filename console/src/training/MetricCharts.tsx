import { useMemo, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { Chart } from '../ui/Chart.tsx';
import { number } from '../ui/format.ts';
import { makeCharts, type MetricRow } from './metrics.ts';
import styles from './training.module.css';

/** Charts that are shown at first; the others on request. */
const FIRST_CHARTS = 8;
const COLOURS = 6;

export function MetricCharts({ name, rows }: { name: string; rows: readonly MetricRow[] }) {
  const [isWhole, showWhole] = useState(false);
  const buckets = useMemo(() => {
    const starts = rows.map(({ at }) => at);
    return { starts, until: (starts.at(-1) ?? 0) + (starts.length > 1 ? 0 : 1), name };
  }, [rows, name]);
  const charts = useMemo(() => {
    const found = makeCharts(rows);
    // a split has the same colour in all charts
    const labels = [...new Set(found.flatMap(({ series }) => series.map(({ label }) => label)))];
    return found.map(({ title, series }) => ({
      title,
      series: series.map(({ label, values }) => ({
        label,
        colour: `--series-${(labels.indexOf(label) % COLOURS) + 1}`,
        values,
        whole: number(values.findLast((value) => value !== null)),
      })),
    }));
  }, [rows]);
  const shown = isWhole ? charts : charts.slice(0, FIRST_CHARTS);
  return (
    <>
      <div className={styles['charts']}>
        {shown.map(({ title, series }) => (
          <Chart
            key={title}
            title={title}
            buckets={buckets}
            series={series}
            look="lines"
            format={number}
          />
        ))}
      </div>
      {charts.length > shown.length && (
        <Button onClick={() => showWhole(true)}>
          Show {charts.length - shown.length} more metrics
        </Button>
      )}
    </>
  );
}

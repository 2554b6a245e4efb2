import { useMemo } from 'react';
import { Chart, type Series } from '../ui/Chart.tsx';
import { count, duration, money } from '../ui/format.ts';
import { spendingText } from './cost.tsx';
import type { Stats } from './queries.ts';
import type { UsageRow } from './stats.ts';
import styles from './metrics.module.css';

/** Number of model colours; the last one is for all other models together. */
const MOST_MODELS = 6;

export function Charts({
  stats: { series, whole },
  onZoom,
}: {
  stats: Stats;
  onZoom: (from: number, to: number) => void;
}) {
  const calls = useMemo(
    (): Series[] => [
      { label: 'calls', colour: '--series-1', values: series.calls, whole: count(whole.calls) },
      { label: 'errors', colour: '--bad', values: series.errors, whole: count(whole.errors) },
    ],
    [series, whole],
  );
  const latency = useMemo(
    (): Series[] => [
      { label: 'p50', colour: '--series-2', values: series.p50, whole: duration(whole.p50) },
      { label: 'p95', colour: '--series-1', values: series.p95, whole: duration(whole.p95) },
      { label: 'p99', colour: '--series-3', values: series.p99, whole: duration(whole.p99) },
    ],
    [series, whole],
  );
  const shares = useMemo(() => costShares(whole.models), [whole]);
  const tokens = useMemo(
    () =>
      shares.map(({ label, colour, models }): Series => {
        const values = models.map(({ name }) => series.models.get(name!)?.tokens);
        const sum = models.reduce((all, one) => all + one.inputTokens + one.outputTokens, 0);
        return { label, colour, values: added(series.starts, values), whole: count(sum) };
      }),
    [shares, series],
  );
  const unit = useMemo(() => mainUnit(whole.models), [whole]);
  const costs = useMemo(
    () =>
      shares.map(({ label, colour, models }): Series => {
        const values = models.map(({ name }) => series.models.get(name!)?.cost.get(unit));
        return {
          label,
          colour,
          values: added(series.starts, values),
          whole: printCost(models, unit),
        };
      }),
    [shares, series, unit],
  );
  const shared = { buckets: series, onZoom };
  return (
    <div className={styles['charts']}>
      <Chart {...shared} title="Calls" series={calls} look="bars" format={count} />
      <Chart {...shared} title="Latency" series={latency} look="lines" format={duration} />
      <Chart {...shared} title="Tokens by model" series={tokens} look="stacked" format={count} />
      <Chart
        {...shared}
        title={unit === 'USD' ? 'Cost by model' : `Cost by model in ${unit}`}
        series={costs}
        look="stacked"
        format={(value) => money(value, unit)}
      />
    </div>
  );
}

interface Share {
  label: string;
  colour: string;
  models: UsageRow[];
}

/** The models with the most tokens, each with a colour, and all others as one share. */
function costShares(models: readonly UsageRow[]): Share[] {
  const ordered = models.toSorted(
    (a, b) => b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens,
  );
  const named = ordered.length > MOST_MODELS ? MOST_MODELS - 1 : ordered.length;
  const shares = ordered.slice(0, named).map((model, n) => ({
    label: model.name!,
    colour: `--series-${n + 1}`,
    models: [model],
  }));
  const others = ordered.slice(named);
  if (others.length === 0) return shares;
  const label = `${others.length} others`;
  return [...shares, { label, colour: `--series-${MOST_MODELS}`, models: others }];
}

const added = (starts: readonly number[], columns: readonly (readonly number[] | undefined)[]) =>
  starts.map((_, index) => columns.reduce((sum, values) => sum + (values?.[index] ?? 0), 0));

/** The currency unit that most models use: costs in two units are not drawn in one chart. */
function mainUnit(models: readonly UsageRow[]): string {
  const times = new Map<string, number>();
  for (const { cost } of models)
    for (const unit of cost.keys()) times.set(unit, (times.get(unit) ?? 0) + 1);
  return [...times].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 'USD';
}

function printCost(models: readonly UsageRow[], unit: string): string {
  const [only] = models;
  if (models.length === 1) return spendingText(only!);
  return money(
    models.reduce((sum, { cost }) => sum + (cost.get(unit) ?? 0), 0),
    unit,
  );
}

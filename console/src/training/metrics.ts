import type { Metrics } from './queries.ts';

export interface MetricRow {
  at: number;
  metrics: Metrics | Record<string, unknown>;
}

export interface MetricChart {
  title: string;
  /** One series per split; `trainer` for metrics without a split. One value per row. */
  series: { label: string; values: (number | null)[] }[];
}

const TRAINER = 'trainer';
/** Metrics that are drawn first. Sizes (`num_…`) come last. */
const FIRST = ['reward', 'loss'];
const SIZES = /^num_/;

/** The splits of the logged trajectories. The service adds `<split>/num_trajectories` for each. */
export function listSplits(rows: readonly MetricRow[]): string[] {
  const names = rows.flatMap(({ metrics }) => Object.keys(metrics));
  const found = names.flatMap((name) => /^([^/]+)\/num_trajectories$/.exec(name)?.[1] ?? []);
  return [...new Set(found)].toSorted();
}

/** Makes one chart per metric, with a line for each split. */
export function makeCharts(rows: readonly MetricRow[]): MetricChart[] {
  const splits = new Set(listSplits(rows));
  const charts = new Map<string, Map<string, (number | null)[]>>();
  rows.forEach(({ metrics }, index) => {
    for (const [name, value] of Object.entries(metrics)) {
      if (typeof value !== 'number') continue;
      const [before = '', ...rest] = name.split('/');
      const isOfSplit = rest.length > 0 && splits.has(before);
      const [title, label] = isOfSplit ? [rest.join('/'), before] : [name, TRAINER];
      const chart = charts.get(title) ?? new Map<string, (number | null)[]>();
      charts.set(title, chart);
      const values = chart.get(label) ?? rows.map(() => null);
      chart.set(label, values);
      values[index] = value;
    }
  });
  return [...charts]
    .map(([title, series]) => ({
      title,
      series: [...series]
        .map(([label, values]) => ({ label, values }))
        .toSorted(
          (a, b) => labelRank(a.label) - labelRank(b.label) || (a.label < b.label ? -1 : 1),
        ),
    }))
    .toSorted((a, b) => titlePlace(a.title) - titlePlace(b.title) || (a.title < b.title ? -1 : 1));
}

const labelRank = (label: string) => (label === TRAINER ? 0 : 1);
const titlePlace = (title: string) =>
  FIRST.includes(title) ? FIRST.indexOf(title) : FIRST.length + Number(SIZES.test(title));

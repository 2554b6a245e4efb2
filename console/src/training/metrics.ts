import type { Metrics } from './queries.ts';

/** The metrics at a step, or of an event. */
export interface MetricRow {
  at: number;
  metrics: Metrics | Record<string, unknown>;
}

export interface MetricChart {
  title: string;
  /** By the split that it was computed of; `trainer` where it has none. One value a row. */
  series: { label: string; values: (number | null)[] }[];
}

const TRAINER = 'trainer';
/** What is drawn first; how much there was comes last. */
const FIRST = ['reward', 'loss'];
const SIZES = /^num_/;

/** The splits that trajectories were logged of: the service says of each how many there were. */
export function listSplits(rows: readonly MetricRow[]): string[] {
  const names = rows.flatMap(({ metrics }) => Object.keys(metrics));
  const found = names.flatMap((name) => /^([^/]+)\/num_trajectories$/.exec(name)?.[1] ?? []);
  return [...new Set(found)].toSorted();
}

/** One chart a metric, with a line for each split that has it. */
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

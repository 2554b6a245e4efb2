import { type EvaluationRun, valueAt } from './runs.ts';

/** A column of a leaderboard: a value from the summaries of an evaluation's runs. */
export interface BoardColumn {
  evaluation: string;
  scorer: string;
  path: string;
  isLowBest: boolean;
}

export interface Leaderboard {
  name: string;
  description: string;
  columns: BoardColumn[];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads a published leaderboard. Columns without an evaluation are left out. */
export function leaderboard(name: string, val: unknown): Leaderboard {
  const columns = valueAt(val, ['columns']);
  return {
    name,
    description: text(valueAt(val, ['description'])),
    columns: (Array.isArray(columns) ? columns : []).flatMap((column: unknown): BoardColumn[] => {
      const evaluation = text(valueAt(column, ['evaluation_object_ref']));
      if (evaluation === '') return [];
      return [
        {
          evaluation,
          scorer: text(valueAt(column, ['scorer_name'])),
          path: text(valueAt(column, ['summary_metric_path'])),
          isLowBest: valueAt(column, ['should_minimize']) === true,
        },
      ];
    }),
  };
}

/** The value of a model in a column: that of its newest run with a value. */
export interface BoardCell {
  value: number;
  run: EvaluationRun;
  /** Number of runs of the model with a value in this column. */
  runs: number;
}

export interface BoardRow {
  model: string;
  cells: (BoardCell | null)[];
}

/** The value of a column in the summary of a run. `true` counts as 1. */
function metric({ output }: EvaluationRun, { scorer, path }: BoardColumn): number | null {
  const steps = path === '' ? [] : path.split('.');
  const value = valueAt(output, scorer === '' ? steps : [scorer, ...steps]);
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' ? value : null;
}

/** Makes a row for each model. `runs` must be sorted newest first. */
export function boardRows({ columns }: Leaderboard, runs: readonly EvaluationRun[]): BoardRow[] {
  const rows = new Map<string, BoardRow>();
  for (const run of runs) {
    if (run.model === null) continue;
    for (const [n, column] of columns.entries()) {
      if (run.evaluation !== column.evaluation) continue;
      const value = metric(run, column);
      if (value === null) continue;
      const row = rows.get(run.model) ?? { model: run.model, cells: columns.map(() => null) };
      rows.set(run.model, row);
      const known = row.cells[n];
      if (known) known.runs++;
      else row.cells[n] = { value, run, runs: 1 };
    }
  }
  return [...rows.values()];
}

export const bestValues = ({ columns }: Leaderboard, rows: readonly BoardRow[]) =>
  columns.map(({ isLowBest }, n) => {
    const values = rows.flatMap(({ cells }) => cells[n]?.value ?? []);
    return isLowBest ? Math.min(...values) : Math.max(...values);
  });

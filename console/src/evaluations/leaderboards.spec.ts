import { bestValues, boardRows, leaderboard } from './leaderboards.ts';
import type { EvaluationRun } from './runs.ts';

const board = leaderboard('board', {
  columns: [
    { evaluation_object_ref: 'exam', scorer_name: 'right', summary_metric_path: 'true_fraction' },
    {
      evaluation_object_ref: 'exam',
      scorer_name: 'model_latency',
      summary_metric_path: 'mean',
      should_minimize: true,
    },
    { scorer_name: 'without an evaluation' },
  ],
});
const run = (id: string, model: string | null, output: unknown, evaluation = 'exam') =>
  ({ id, model, evaluation, output }) as EvaluationRun;
const said = (rate: number, mean: number) => ({
  right: { true_fraction: rate },
  model_latency: { mean },
});

describe('a leaderboard', () => {
  it('takes of each model the newest run that has a value, and the best of each column', () => {
    const runs = [
      run('running', 'terse', null),
      run('new', 'terse', said(0.5, 2)),
      run('old', 'terse', said(1, 1)),
      run('chatty', 'chatty', said(0.75, 3)),
      run('elsewhere', 'chatty', said(1, 0), 'another exam'),
      run('nobody', null, said(1, 0)),
    ];
    const rows = boardRows(board, runs);
    expect(
      rows.map(({ model, cells }) => [model, ...cells.map((cell) => [cell?.value, cell?.runs])]),
    ).toEqual([
      ['terse', [0.5, 2], [2, 2]],
      ['chatty', [0.75, 1], [3, 1]],
    ]);
    expect(rows[0]!.cells[0]!.run.id).toBe('new');
    expect(bestValues(board, rows)).toEqual([0.75, 2]);
  });
});

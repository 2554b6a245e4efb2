import { jsonIndex } from '../json/json-index.ts';
import { isWorse, parseRows } from './rows.ts';
import { scoreField } from './scores.ts';

const trial = (score: unknown, output: unknown = null) => ({
  predict_and_score_call_id: 'trial',
  predict_call_id: null,
  model_output: output,
  scores: { judge: { 'of 10': score } },
  model_latency_seconds: 0.5,
  total_tokens: 7,
  total_cost: null,
});
const read = (evaluations: object[], raw = '1.0') =>
  parseRows(
    jsonIndex(
      `{"rows":[{"row_digest":"d","raw_data_row":${raw},"evaluations":${JSON.stringify(evaluations)}}],"total_rows":1}`,
    ),
    { scorer_key: 'judge', path: 'of 10' },
  );
const run = (evaluation_call_id: string, ...trials: object[]) => ({ evaluation_call_id, trials });

describe('rows of a comparison', () => {
  it('keeps digits, shows strings as the texts that they mean, and finds a score by its path', () => {
    const { rows, total } = read([run('a', trial(3, 'line 1\nline 2'))], '{"n":1.0}');
    expect(total).toBe(1);
    expect(rows[0]).toMatchObject({ digest: 'd', inputs: '{ "n": 1.0 }' });
    expect(rows[0]!.trials.get('a')).toEqual([
      {
        callId: 'trial',
        output: 'line 1\nline 2',
        score: '3',
        latencySeconds: 0.5,
        tokens: 7,
        cost: null,
      },
    ]);
  });

  it.each([
    [[true], [false], true],
    [[false], [true], false],
    [[true, false], [false, false], true],
    [[1.5], [1.5], false],
    [[-1], [-2], true],
    [[true], [null], false],
    [[true], ['bad'], false],
    [[true], [], false],
  ])('of %j and %j says whether the second is worse', (before, after, expected) => {
    const { rows } = read([
      run('a', ...before.map((score) => trial(score))),
      run('b', ...after.map((score) => trial(score))),
    ]);
    expect(isWorse(rows[0]!, { baseline: 'a', other: 'b', isLowGood: false })).toBe(expected);
  });

  it.each([
    [[0.5], [0.25], false],
    [[0.5], [0.75], true],
    [[1], [1], false],
    [[1], [null], false],
  ])('of %j and %j does so where less is better', (before, after, expected) => {
    const { rows } = read([
      run('a', ...before.map((score) => trial(score))),
      run('b', ...after.map((score) => trial(score))),
    ]);
    expect(isWorse(rows[0]!, { baseline: 'a', other: 'b', isLowGood: true })).toBe(expected);
  });

  it('escapes what would be a path in the name of a scorer', () => {
    expect(scoreField({ scorer_key: 'v1.2[x]', path: 'deep.score' })).toBe(
      String.raw`scores.v1\.2\[x].deep.score`,
    );
    expect(scoreField({ scorer_key: 'right', path: null })).toBe('scores.right');
  });
});

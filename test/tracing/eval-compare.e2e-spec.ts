import { useApp } from '../support/app.js';
import { aRun } from '../support/evaluations.js';

const PROJECT = 'acme/demo';
const app = useApp();
const compare = (body: object) => app.post(`/v2/${PROJECT}/eval_results/compare`, body);
const usage = (prompt_tokens: number) => ({ 'gpt-4o': { prompt_tokens, completion_tokens: 0 } });

describe('/v2/…/eval_results/compare', () => {
  it('pairs rows, averages their trials, and tests each score', async () => {
    const row = (n: number, right: boolean, score: number, tokens: number) => ({
      example: { n },
      scores: { right, deep: { score } },
      usage: usage(tokens),
      judge_usage: usage(1000),
      latency_ms: 1000 * n,
    });
    await aRun(app, PROJECT, 'base', [
      ...[0, 1, 2, 3, 4, 5].map((n) => row(n, false, 0.5, 10)),
      row(6, true, 0.5, 10),
      { example: { n: 99 }, scores: { right: true } },
    ]);
    await aRun(app, PROJECT, 'new', [
      ...[0, 1, 2, 3, 4, 5].map((n) => row(n, true, 0.75, 30)),
      row(6, true, 0.5, 30),
      row(6, false, 0.5, 30),
    ]);
    const { status, body } = await compare({ baseline_call_id: 'base', other_call_ids: ['new'] });
    expect(status).toBe(200);
    const [one] = body.comparisons;
    expect(one).toMatchObject({
      evaluation_call_id: 'new',
      rows_paired: 7,
      rows_only_baseline: 1,
      rows_only_other: 0,
    });
    const [right, deep] = one.scores;
    expect(right).toMatchObject({
      scorer_key: 'right',
      path: null,
      value_type: 'binary',
      n: 7,
      baseline_mean: 1 / 7,
      other_mean: 6.5 / 7,
      rows_up: 6,
      rows_down: 1,
      rows_same: 0,
    });
    expect(right.p_value).toBeCloseTo((2 * (1 + 7)) / 2 ** 7, 12);
    expect(right.test).toMatch(/McNemar/);
    expect(deep).toMatchObject({
      scorer_key: 'deep',
      path: 'score',
      value_type: 'continuous',
      n: 7,
      rows_up: 6,
      rows_same: 1,
    });
    expect(deep.difference).toBeCloseTo(1.5 / 7, 12);
    expect(deep.p_value).toBe(2 / 2 ** 6);
    expect(deep.interval[0]).toBeLessThanOrEqual(deep.difference);
    expect(deep.p_value_holm).toBe(2 * deep.p_value);
    expect(one.total_tokens).toMatchObject({
      n: 7,
      baseline_mean: 10,
      other_mean: 30,
      difference: 20,
    });
    expect(one.latency_seconds).toMatchObject({ n: 7, difference: 0, rows_same: 7, p_value: 1 });
    expect(one.total_cost.difference).toBeCloseTo(20 * 2.5e-6, 12);
    expect(one.judge_cost).toMatchObject({ n: 7 });
    expect(one.judge_cost.baseline_mean).toBeCloseTo(2 * 1000 * 2.5e-6, 12);
    expect(body.warnings).toEqual([expect.stringContaining('p_value_holm')]);
  });

  it('compares only scores that are named, and warns where no row is shared', async () => {
    await aRun(app, PROJECT, 'apart', [{ example: { other: 1 }, scores: { right: true } }]);
    const body = {
      baseline_call_id: 'base',
      other_call_ids: ['new', 'apart'],
      scores: ['deep.score'],
    };
    const answer = (await compare(body)).body;
    expect(answer.comparisons[0].scores.map((score: any) => score.path)).toEqual(['score']);
    expect(answer.comparisons[1]).toMatchObject({ rows_paired: 0, scores: [] });
    expect(answer.comparisons[1].total_tokens).toMatchObject({
      n: 0,
      difference: null,
      p_value: null,
    });
    expect(answer.warnings).toEqual(['no row is in both base and apart']);
  });

  it('finds no evaluations of other projects, and refuses more than four', async () => {
    const body = { baseline_call_id: 'base', other_call_ids: ['new'] };
    expect((await app.post('/v2/acme/other/eval_results/compare', body)).status).toBe(404);
    const many = { ...body, other_call_ids: ['1', '2', '3', '4', '5'] };
    expect((await compare(many)).status).toBe(400);
  });
});

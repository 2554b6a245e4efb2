import { WIRE } from '../../support/wire.js';
import { linesOf, send, basic, useApp } from '../../support/app.js';

const PROJECT = 'acme/demo';
const V2 = `/v2/${PROJECT}`;
const app = useApp();
const post = async (path: string, body: object = {}) => {
  const answer = await app.post(`${V2}/${path}`, body);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body;
};
const request = (method: string, path: string, key = app.key) =>
  send(`${app.url}${V2}/${path}`, undefined, { authorization: basic(key) }, method);
const get = (path: string) => request('GET', path);
const results = async (id: string) =>
  post('eval_results/query', { evaluation_call_ids: [id], include_summary: true });

/** Publishes an evaluation, a model and two scorers. */
async function published() {
  const dataset = await post('datasets', { name: 'Questions', rows: [{ q: '1' }, { q: '2' }] });
  const { scorer } = await post('scorers', { name: 'Right', op_source_code: 'def score(): ...' });
  const judge = await post('scorers', { name: 'Judge', op_source_code: 'def score(): ...' });
  const { model_ref } = await post('models', {
    name: 'My Model',
    source_code: 'class M: ...',
    attributes: { temperature: 1.0 },
  });
  const { evaluation_ref } = await post('evaluations', {
    name: 'Exam',
    dataset: `${WIRE.scheme}:///${PROJECT}/object/${dataset.object_id}:${dataset.digest}`,
    scorers: [scorer],
  });
  return { dataset, scorer, judge: judge.scorer, model_ref, evaluation_ref };
}

describe('evaluations by plain requests', () => {
  it('records a run as the SDKs do', async () => {
    const { scorer, judge, model_ref, evaluation_ref } = await published();
    const { evaluation_run_id: run } = await post('evaluation_runs', {
      evaluation: evaluation_ref,
      model: model_ref,
    });
    const predict = async (q: string, output: unknown, right: boolean, score: number) => {
      const { prediction_id } = await post('predictions', {
        model: model_ref,
        inputs: { q },
        output,
        evaluation_run_id: run,
      });
      await post('scores', { prediction_id, scorer, value: right });
      await post('scores', { prediction_id, scorer: judge, value: { score, why: null } });
      await post(`predictions/${prediction_id}/finish`);
      return prediction_id as string;
    };
    const first = await predict('1', 'one', true, 0.5);
    await predict('2', 'two', false, 1);
    const status = () => app.post('/evaluations/status', { project_id: PROJECT, call_id: run });
    expect((await status()).body).toEqual({
      status: { code: 'running', completed_rows: 2, total_rows: 2 },
    });
    await post(`evaluation_runs/${run}/finish`);

    const expected = {
      right: { true_count: 1, true_fraction: 0.5 },
      judge: { score: { mean: 0.75 } },
      model_latency: { mean: expect.any(Number) },
    };
    expect((await status()).body.status).toEqual({ code: 'complete', output: expected });
    expect((await get(`evaluation_runs/${run}`)).body).toEqual({
      evaluation_run_id: run,
      evaluation: evaluation_ref,
      model: model_ref,
      status: 'success',
      started_at: expect.any(String),
      finished_at: expect.any(String),
      summary: expected,
      source_evaluation_run_id: null,
    });

    const { rows, summary } = await results(run);
    expect(rows).toHaveLength(2);
    const trial = rows
      .flatMap((row: any) => row.evaluations[0].trials)
      .find((one: any) => one.predict_call_id === first);
    expect(trial).toMatchObject({
      model_output: 'one',
      scores: { right: true, judge: { score: 0.5, why: null } },
      scorer_call_ids: { right: expect.any(String), judge: expect.any(String) },
    });
    expect(summary.evaluations[0]).toMatchObject({ evaluation_ref, model_ref, trial_count: 2 });
    expect(summary.evaluations[0].scorer_stats[0]).toMatchObject({ pass_rate: 0.5 });

    const feedback = await app.post('/feedback/query', { project_id: PROJECT });
    const ofFirst = feedback.body.result.filter((row: any) => row[WIRE.ref].endsWith(first));
    expect(ofFirst.map((row: any) => [row.feedback_type, row.payload, row.runnable_ref])).toEqual([
      [`${WIRE.feedback}.runnable.right`, { output: true }, scorer],
      [`${WIRE.feedback}.runnable.judge`, { output: { score: 0.5, why: null } }, judge],
    ]);
    const calls = linesOf(
      await app.post('/calls/stream_query', {
        project_id: PROJECT,
        filter: {
          op_names: [`${WIRE.scheme}:///${PROJECT}/op/Evaluation.evaluate:*`],
          input_refs: [evaluation_ref],
        },
      }),
    );
    expect(calls.map(({ id }) => id)).toEqual([run]);
  });

  it('takes into a second finish what was scored since, and keeps outputs', async () => {
    const { scorer, judge, model_ref: model, evaluation_ref: evaluation } = await published();
    const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model });
    const prediction = { model, inputs: { q: 'x' }, output: { n: 7 }, evaluation_run_id };
    const { prediction_id } = await post('predictions', prediction);
    await post('scores', { prediction_id, scorer, value: true });
    await post(`predictions/${prediction_id}/finish`);
    await post(`evaluation_runs/${evaluation_run_id}/finish`, { summary: { mine: 1 } });
    expect((await get(`evaluation_runs/${evaluation_run_id}`)).body.summary).toEqual({ mine: 1 });
    await post('scores', { prediction_id, scorer: judge, value: 3 });
    await post(`predictions/${prediction_id}/finish`);
    await post(`evaluation_runs/${evaluation_run_id}/finish`);
    const { body } = await app.post('/evaluations/status', {
      project_id: PROJECT,
      call_id: evaluation_run_id,
    });
    expect(body.status.output).toMatchObject({
      right: { true_count: 1, true_fraction: 1 },
      judge: { mean: 3 },
      output: { n: { mean: 7 } },
    });
    expect((await get(`predictions/${prediction_id}`)).body).toMatchObject({
      prediction_id,
      model,
      inputs: { q: 'x' },
      output: { n: 7 },
      evaluation_run_id,
    });
    const children = linesOf(
      await app.post('/calls/stream_query', {
        project_id: PROJECT,
        filter: { parent_ids: [evaluation_run_id] },
      }),
    );
    expect(children.map((call) => call.summary[WIRE.summary].trace_name)).toEqual([
      'Evaluation.predict_and_score',
      'Evaluation.summarize',
    ]);
  });

  it('stores nothing of a score that it refuses', async () => {
    const prediction = { model: 'm', inputs: {}, output: 1 };
    const { prediction_id } = await post('predictions', prediction);
    const { body: before } = await app.post('/calls/query_stats', { project_id: PROJECT });
    const scorer = (name: string) => `${WIRE.scheme}:///${PROJECT}/object/${name}:latest`;
    for (const [name, value, status] of [
      ['large', 'x'.repeat(1024 * 1024), 413],
      ['n'.repeat(256), 1, 400],
    ] as const) {
      const score = { prediction_id, scorer: scorer(name), value };
      expect((await app.post(`${V2}/scores`, score)).status).toBe(status);
    }
    const { body: after } = await app.post('/calls/query_stats', { project_id: PROJECT });
    expect(after).toEqual(before);
  });

  it('does not finish a prediction whose scores are too large for one document', async () => {
    const run = await post('evaluation_runs', { evaluation: 'e', model: 'm' });
    const { prediction_id } = await post('predictions', {
      model: 'm',
      inputs: {},
      output: 1,
      ...run,
    });
    const read = await app.post('/call/read', { project_id: PROJECT, id: prediction_id });
    const { parent_id, trace_id } = read.body.call;
    for (const id of ['large 1', 'large 2']) {
      const times = { started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:00:01Z' };
      const documents = { inputs: {}, output: 'x'.repeat(9 * 1024 * 1024) };
      const attributes = { weave: { score: 'true', scorer: id } };
      const call = { project_id: PROJECT, id, op_name: 'score', parent_id, trace_id, attributes };
      await post('calls/complete', { batch: [{ ...call, ...times, ...documents }] });
    }
    const finished = await request('POST', `predictions/${prediction_id}/finish`);
    expect([finished.status, finished.body.code]).toEqual([413, 'too_large']);
  });

  it('lists and deletes predictions and scores, of a run or by themselves', async () => {
    const { scorer, model_ref: model, evaluation_ref: evaluation } = await published();
    const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model });
    const alone = await post('predictions', { model, inputs: {}, output: null });
    const inRun = await post('predictions', { model, inputs: {}, output: 1, evaluation_run_id });
    const { score_id } = await post('scores', { ...inRun, scorer, value: false });
    const inputs = { evaluation_run_id };
    const of = async (path: string) =>
      linesOf(await get(`${path}?evaluation_run_id=${inputs.evaluation_run_id}`));
    expect((await of('predictions')).map((one) => one.prediction_id)).toEqual([
      inRun.prediction_id,
    ]);
    expect(await of('scores')).toEqual(
      [{ score_id, scorer, value: false, evaluation_run_id, [WIRE.userId]: 'ada' }].map((one) => ({
        ...one,
        [WIRE.userId]: expect.any(String),
      })),
    );
    const all = linesOf(await get('predictions')).map((one) => one.prediction_id);
    expect(all).toEqual(expect.arrayContaining([alone.prediction_id, inRun.prediction_id]));
    expect(
      linesOf(await get(`evaluation_runs?models=${encodeURIComponent(model)}&limit=1`)),
    ).toHaveLength(1);
    expect(linesOf(await get('evaluation_runs?models=other'))).toEqual([]);
    expect((await request('DELETE', `scores?score_ids=${score_id}`)).body).toEqual({
      num_deleted: 1,
    });
    expect((await get(`scores/${score_id}`)).status).toBe(404);
    expect(
      (await request('DELETE', `evaluation_runs?evaluation_run_ids=${evaluation_run_id}`)).body
        .num_deleted,
    ).toBe(3);
    expect((await get(`evaluation_runs/${evaluation_run_id}`)).status).toBe(404);
  });

  it.each([
    ['predictions', { model: 'm', inputs: {}, output: 1, evaluation_run_id: 'nowhere' }, 404],
    [
      'scores',
      { prediction_id: 'nowhere', scorer: `${WIRE.scheme}:///${PROJECT}/object/S:1`, value: 1 },
      404,
    ],
    ['scores', { prediction_id: 'nowhere', scorer: 'S', value: 1 }, 400],
    ['predictions/nowhere/finish', {}, 404],
    ['evaluation_runs/nowhere/finish', {}, 404],
    ['predictions', { model: 'm', inputs: [], output: 1 }, 400],
    ['scorers', { name: 'x' }, 400],
  ])('POST %s refuses %j', async (path, body, status) => {
    expect((await app.post(`${V2}/${path}`, body)).status).toBe(status);
  });

  it('lets readers write nothing, and nobody reach another project', async () => {
    const reader = await app.aKey('reader');
    const stranger = await app.aKey('writer', ['other/project']);
    const body = { evaluation: 'e', model: 'm' };
    expect((await app.post(`${V2}/evaluation_runs`, body, { key: reader })).status).toBe(403);
    expect((await app.post(`${V2}/evaluation_runs`, body, { key: stranger })).status).toBe(403);
    expect((await request('GET', 'evaluation_runs', stranger)).status).toBe(403);
    expect((await request('DELETE', 'scores?score_ids=x', reader)).status).toBe(403);
    const { evaluation_run_id } = await post('evaluation_runs', body);
    const elsewhere = await app.post('/v2/acme/other/predictions', {
      ...{ model: 'm', inputs: {}, output: 1, evaluation_run_id },
    });
    expect(elsewhere.status).toBe(404);
  });
});

describe('typed objects', () => {
  it('reads what it published, as ordinary objects', async () => {
    const { dataset, scorer, model_ref, evaluation_ref } = await published();
    const version = (ref: string) => {
      const [, id, digest] = /([^/]+):([^:]+)$/.exec(ref)!;
      return `${id}/versions/${digest}`;
    };
    expect((await get(`models/${version(model_ref)}`)).text).toContain(
      '"attributes":{"temperature":1}',
    );
    expect((await get(`models/${version(model_ref)}`)).body).toMatchObject({
      object_id: 'my_model',
      name: 'My Model',
      source_code: 'class M: ...',
    });
    expect((await get(`scorers/${version(scorer)}`)).body).toMatchObject({
      name: 'Right',
      score_op: expect.stringContaining('/op/right_score:'),
    });
    expect((await get(`evaluations/${version(evaluation_ref)}`)).body).toMatchObject({
      name: 'Exam',
      trials: 1,
      scorers: [scorer],
      evaluate_op: expect.stringContaining('/op/exam.evaluate:'),
    });
    const data = (await get(`datasets/${dataset.object_id}/versions/${dataset.digest}`)).body;
    const digest = data.rows.split('/').at(-1);
    const table = await app.post('/table/query', { project_id: PROJECT, digest });
    expect(table.body.rows.map((row: any) => row.val)).toEqual([{ q: '1' }, { q: '2' }]);
    const op = await post('ops', { name: 'f', source_code: 'def f(): ...' });
    expect((await get(`ops/f/versions/${op.digest}`)).body.code).toBe('def f(): ...');
    expect((await get(`ops/f/versions/${op.digest}?eager=false`)).body.code).toBe(null);
    expect(linesOf(await get('ops')).map(({ object_id }) => object_id)).toContain('f');
    for (const kind of ['datasets', 'scorers', 'evaluations', 'models'])
      expect(linesOf(await get(`${kind}?limit=1`))).toHaveLength(1);
    const { body } = await app.post('/objs/query', {
      project_id: PROJECT,
      filter: { base_object_classes: ['Model'] },
    });
    expect(body.objs[0].val).toMatchObject({ _type: 'Model', temperature: 1 });
  });

  it('deletes versions of its kind only', async () => {
    const { digest } = await post('datasets', { name: 'gone', rows: [{}] });
    expect((await request('DELETE', 'models/gone')).status).toBe(404);
    expect((await request('DELETE', `datasets/gone?digests=${digest}`)).body).toEqual({
      num_deleted: 1,
    });
    expect((await get(`datasets/gone/versions/${digest}`)).status).toBe(404);
  });
});

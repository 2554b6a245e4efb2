import { WIRE } from '../support/wire.js';
import { useApp } from '../support/app.js';
import { aRun } from '../support/evaluations.js';

const PROJECT = 'acme/demo';
const app = useApp();
const ref = (digest: string) =>
  `${WIRE.scheme}:///${PROJECT}/object/Data:d1/attr/rows/id/${digest}`;
const query = async (body: object, project = PROJECT) =>
  app.post(`/v2/${project}/eval_results/query`, body);
const rowsOf = async (body: object): Promise<any[]> => (await query(body)).body.rows;
const digestsOf = async (body: object) => (await rowsOf(body)).map(({ row_digest }) => row_digest);

let rows: string[];
beforeAll(async () => {
  const table = await app.post('/table/create', {
    table: {
      project_id: PROJECT,
      rows: [
        { q: 'a', n: 3 },
        { q: 'b', n: 20 },
        { q: 'c', n: 100 },
      ],
    },
  });
  rows = table.body.row_digests;
  const [a, b, c] = rows.map(ref);
  const usage = { 'gpt-4o': { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
  await aRun(app, PROJECT, 'one', [
    { example: a, output: 'A', scores: { right: true, judge: { score: 0.5, why: 'x' } }, usage },
    { example: b, output: 'B', scores: { right: false, judge: { score: 0.25, why: 'y' } }, usage },
    { example: a, output: 'A2', scores: { right: false, judge: { score: 1, why: null } }, usage },
  ]);
  await aRun(app, PROJECT, 'two', [
    { example: b, output: { text: 'BB' }, scores: { right: true }, late: { tone: 7 } },
    { example: c, output: 'C', scores: { right: true }, latency_ms: 300 },
    { example: { q: 'inline', n: 1 }, output: 12345678901234567890n.toString(), scores: {} },
  ]);
});

describe('/v2/…/eval_results/query', () => {
  it('answers rows with the trials of each evaluation, in the order of the calls', async () => {
    const [first] = await rowsOf({ evaluation_call_ids: ['one'], filters: [hasDigest(rows[0]!)] });
    expect(first).toEqual({
      row_digest: rows[0],
      evaluations: [
        {
          evaluation_call_id: 'one',
          trials: [
            {
              predict_and_score_call_id: 'one-0',
              predict_call_id: 'one-0-predict',
              model_output: 'A',
              scores: { right: true, judge: { score: 0.5, why: 'x' } },
              model_latency_seconds: 0.1,
              total_tokens: 15,
              total_cost: null,
              scorer_call_ids: { right: 'one-0-right', judge: 'one-0-judge' },
            },
            expect.objectContaining({ predict_and_score_call_id: 'one-2', model_output: 'A2' }),
          ],
        },
      ],
    });
  });

  it('takes a scorer below a trial that its output does not tell', async () => {
    const [row] = await rowsOf({ evaluation_run_ids: ['two'], filters: [hasDigest(rows[1]!)] });
    expect(row.evaluations[0].trials[0].scores).toEqual({ right: true, tone: 7 });
  });

  it.each(['abc', [1, 2], 7, true])('counts no scores where a trial has %j', async (scores) => {
    const id = `odd ${JSON.stringify(scores)}`;
    const call = { project_id: PROJECT, trace_id: id, started_at: '2026-01-01T00:00:00Z' };
    const ended_at = '2026-01-01T00:00:01Z';
    const op = (name: string) => `${WIRE.scheme}:///${PROJECT}/op/${name}:o1`;
    const batch = [
      { id, op_name: op('Evaluation.evaluate') },
      {
        id: `${id}-0`,
        op_name: op('Evaluation.predict_and_score'),
        parent_id: id,
        inputs: { example: { n: 1 } },
        output: { scores },
      },
      { id: `${id}-1`, op_name: op('tone.score'), parent_id: `${id}-0`, output: 7 },
    ].map((one) => ({ inputs: {}, attributes: {}, output: null, ...call, ended_at, ...one }));
    expect((await app.post(`/v2/${PROJECT}/calls/complete`, { batch })).status).toBe(200);
    const seven = { $eq: [{ $getField: 'scores.tone' }, { $literal: 7 }] };
    const filters = [{ query: { $expr: seven } }];
    const { body } = await query({ evaluation_call_ids: [id], include_summary: true, filters });
    expect(body.rows[0].evaluations[0].trials[0].scores).toEqual({ tone: 7 });
    const [{ scorer_stats }] = body.summary.evaluations;
    expect(scorer_stats.map(({ scorer_key }: any) => scorer_key)).toEqual(['tone']);
  });

  it('takes what is longer than a ref for no ref', async () => {
    const long = 'x'.repeat(3000);
    await aRun(app, PROJECT, 'long', [{ example: ref(long), scores: { right: true } }]);
    const id = 'long self';
    const times = { started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:00:01Z' };
    const op_name = `${WIRE.scheme}:///${PROJECT}/op/Evaluation.evaluate:o1`;
    const call = { project_id: PROJECT, id, trace_id: id, op_name, inputs: { self: long } };
    await app.post(`/v2/${PROJECT}/calls/complete`, { batch: [{ ...call, ...times }] });
    const trial = { id: `${id}-0`, parent_id: id, inputs: { example: 1 }, output: {} };
    const trialOp = op_name.replace('evaluate', 'predict_and_score');
    await app.post(`/v2/${PROJECT}/calls/complete`, {
      batch: [{ ...call, ...times, ...trial, op_name: trialOp }],
    });
    const ids = { evaluation_call_ids: ['long', id], include_summary: true };
    const { rows: found, summary } = (await query(ids)).body;
    expect(found.map(({ row_digest }: any) => row_digest.length)).toEqual([64, 64]);
    expect(summary.evaluations[1]).toMatchObject({ evaluation_ref: null, trial_count: 1 });
  });

  it('answers the statistics of each value of the scores', async () => {
    const { summary } = (
      await query({
        evaluation_call_ids: ['one', 'two'],
        include_summary: true,
        include_rows: false,
      })
    ).body;
    expect(summary.row_count).toBe(4);
    const [one, two] = summary.evaluations;
    expect(one).toMatchObject({
      evaluation_call_id: 'one',
      trial_count: 3,
      predict_total_tokens: 45,
      predict_total_cost: null,
      display_name: 'name of one',
      evaluation_ref: `${WIRE.scheme}:///${PROJECT}/object/Eval:e1`,
      model_ref: `${WIRE.scheme}:///${PROJECT}/object/Model:m1`,
    });
    expect(one.scorer_stats).toEqual([
      expect.objectContaining({
        scorer_key: 'right',
        path: null,
        value_type: 'binary',
        trial_count: 3,
        pass_true_count: 1,
        pass_known_count: 3,
        pass_rate: 1 / 3,
        pass_signal_coverage: 1,
        numeric_mean: null,
      }),
      expect.objectContaining({
        scorer_key: 'judge',
        path: 'score',
        value_type: 'continuous',
        trial_count: 3,
        numeric_count: 3,
        numeric_mean: 1.75 / 3,
        pass_rate: null,
      }),
      expect.objectContaining({
        scorer_key: 'judge',
        path: 'why',
        value_type: 'text',
        trial_count: 2,
      }),
    ]);
    expect(two.scorer_stats.map((stat: any) => stat.scorer_key).toSorted()).toEqual([
      'right',
      'tone',
    ]);
  });

  it('keeps rows that all evaluations have, on request', async () => {
    const evaluation_call_ids = ['one', 'two'];
    expect(await digestsOf({ evaluation_call_ids, require_intersection: true })).toEqual([rows[1]]);
    expect(await digestsOf({ evaluation_call_ids })).toHaveLength(4);
  });

  it('sorts by scores, inputs, outputs and differences, and pages', async () => {
    const evaluation_call_ids = ['one', 'two'];
    const sorted = (sort: object, more = {}) =>
      digestsOf({ evaluation_call_ids, sort_by: [sort], ...more });
    expect((await sorted({ field: 'inputs.n', direction: 'desc' })).slice(0, 3)).toEqual(
      rows.toReversed(),
    );
    expect((await sorted({ field: 'scores.right', direction: 'asc' }))[0]).toBe(
      rows.slice(0, 2).toSorted()[0],
    );
    expect(
      (await sorted({ field: 'scores.right', direction: 'desc', mode: 'difference' }))[0],
    ).toBe(rows[1]);
    expect(await sorted({ field: 'inputs.n', direction: 'desc' }, { limit: 1, offset: 1 })).toEqual(
      [rows[1]],
    );
    expect(
      (
        await sorted({ field: 'scores.judge.score', direction: 'desc', evaluation_call_id: 'one' })
      ).slice(0, 2),
    ).toEqual([rows[0], rows[1]]);
  });

  it('filters by scores, inputs and outputs, of one evaluation or any', async () => {
    const evaluation_call_ids = ['one', 'two'];
    const right = (evaluation_call_id: string | null, value: boolean) => ({
      query: { $expr: { $eq: [{ $getField: 'scores.right' }, { $literal: value }] } },
      evaluation_call_id,
    });
    const filtered = (...filters: object[]) => digestsOf({ evaluation_call_ids, filters });
    expect(await filtered(right('one', false))).toEqual([rows[0], rows[1]].toSorted());
    expect(await filtered(right('two', true))).toEqual([rows[1], rows[2]].toSorted());
    const both = { evaluation_call_ids, filters: [right('one', false), right('two', true)] };
    expect(await digestsOf({ ...both, filter_logic_operator: 'and' })).toEqual([rows[1]]);
    expect(await digestsOf(both)).toEqual(rows.toSorted());
    expect(
      await filtered({
        query: { $expr: { $gt: [{ $getField: 'scores.tone' }, { $literal: 6 }] } },
      }),
    ).toEqual([rows[1]]);
    expect(
      await filtered({
        query: { $expr: { $eq: [{ $getField: 'output.output.text' }, { $literal: 'BB' }] } },
      }),
    ).toEqual([rows[1]]);
  });

  it('answers rows as refs, or resolved, with a warning where a row is gone', async () => {
    const body = { evaluation_call_ids: ['two'], include_raw_data_rows: true };
    const raw = new Map((await rowsOf(body)).map((row) => [row.row_digest, row.raw_data_row]));
    expect(raw.get(rows[1]!)).toBe(ref(rows[1]!));
    const resolved = (await query({ ...body, resolve_row_refs: true })).body;
    expect(resolved.rows.map((row: any) => row.raw_data_row)).toEqual(
      expect.arrayContaining([
        { q: 'b', n: 20 },
        { q: 'inline', n: 1 },
      ]),
    );
    expect(resolved.warnings).toEqual([]);
    await aRun(app, PROJECT, 'lost', [{ example: ref('nowhere'), output: 1 }]);
    const lost = (await query({ ...body, evaluation_call_ids: ['lost'], resolve_row_refs: true }))
      .body;
    expect(lost.rows[0].raw_data_row).toBe(ref('nowhere'));
    expect(lost.warnings).toHaveLength(1);
  });

  it('forgets a row with its call', async () => {
    await aRun(app, PROJECT, 'short', [{ example: { n: 1 } }, { example: { n: 2 } }]);
    await app.post('/calls/delete', { project_id: PROJECT, call_ids: ['short-0'] });
    expect((await query({ evaluation_call_ids: ['short'] })).body.total_rows).toBe(1);
    await app.post('/calls/purge', { project_id: PROJECT, call_ids: ['short-1'] });
    expect((await query({ evaluation_call_ids: ['short'] })).body.total_rows).toBe(0);
  });

  it('says which evaluations are not there, also those of other projects', async () => {
    const { status, body } = await query({ evaluation_call_ids: ['one'] }, 'acme/other');
    expect([status, body.rows]).toEqual([200, []]);
    expect(body.warnings).toEqual(['there is no evaluation call one']);
    expect((await query({})).body).toEqual({ rows: [], total_rows: 0, warnings: [] });
  });

  it.each([
    [{ sort_by: [{ field: 'scores', direction: 'asc' }] }],
    [{ sort_by: [{ field: 'id', direction: 'asc' }] }],
    [{ sort_by: [{ field: 'inputs.n', direction: 'asc', mode: 'difference' }] }],
    [{ filters: [{ query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: 1 }] } } }] }],
    [{ limit: -1 }],
  ])('refuses %j', async (body) => {
    expect((await query({ evaluation_call_ids: ['one'], ...body })).status).toBe(400);
  });
});

const hasDigest = (digest: string) => ({
  query: { $expr: { $eq: [{ $getField: 'row_digest' }, { $literal: digest }] } },
});

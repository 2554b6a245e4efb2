import { basic, linesOf, send, useApp } from '../support/app.js';
import { aRun } from '../support/evaluations.js';
import { refreshed } from '../support/refreshed.js';

const PROJECT = 'acme/demo';
const V2 = `/v2/${PROJECT}`;
const app = useApp();
const query = (body: object) => app.post(`${V2}/eval_results/query`, body);
const op = (name: string) => `svc:///${PROJECT}/op/${name}:o1`;
const times = { started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:00:01Z' };

/** Stores a run with one trial, and calls below that trial. */
async function below(id: string, outputs: readonly unknown[], op_name: string): Promise<void> {
  await aRun(app, PROJECT, id, [{ example: { n: 1 }, scores: { right: true } }]);
  const batch = outputs.map((output, n) => ({
    ...{ project_id: PROJECT, id: `${id}-late-${n}`, trace_id: `trace of ${id}`, ...times },
    ...{ parent_id: `${id}-0`, op_name, inputs: {}, attributes: {}, output },
  }));
  const size = outputs.length > 100 ? 5000 : 5;
  for (let i = 0; i < batch.length; i += size) {
    const part = batch.slice(i, i + size);
    expect((await app.post(`${V2}/calls/complete`, { batch: part })).status).toBe(200);
  }
}

describe('bounds of results of evaluations', () => {
  beforeAll(() => aRun(app, PROJECT, 'one', [{ example: { n: 1 }, scores: { right: true } }]));

  it('count the parts of all filters together', async () => {
    const isRight = { $eq: [{ $getField: 'scores.right' }, { $literal: true }] };
    const filters = (filtersOf: number, conditions: number) =>
      Array.from({ length: filtersOf }, () => ({
        query: { $expr: { $and: Array.from({ length: conditions }, () => isRight) } },
      }));
    const ask = (...size: [number, number]) =>
      query({ evaluation_call_ids: ['one'], filters: filters(...size) });
    expect((await ask(4, 80)).body.total_rows).toBe(1);
    const refused = await ask(32, 300);
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [
        {
          path: 'filters[1].query',
          message: 'must not have more than 1000 parts together with the filters before it',
        },
      ],
    ]);
  });

  it('let documents be taken apart for three orders', async () => {
    const sort_by = (length: number) =>
      Array.from({ length }, (_, i) => ({ field: `inputs.f${i}`, direction: 'asc' }));
    const ask = (length: number) =>
      query({ evaluation_call_ids: ['one'], sort_by: sort_by(length) });
    expect((await ask(3)).status).toBe(200);
    const { status, body } = await ask(4);
    expect([status, body.errors]).toEqual([
      400,
      [
        {
          path: 'sort_by[3].field',
          message: 'must not be one of more than 3 sorts by inputs or output',
        },
      ],
    ]);
  });

  it.each<[string, () => Promise<void>, string]>([
    [
      'many calls',
      () => below('many', Array(10_001).fill(1), op('step')),
      'the trial many-0 has over 10000 calls below it',
    ],
    [
      'much that scorers gave',
      () =>
        below(
          'much',
          Array.from({ length: 35 }, (_, n) => String(n % 10).repeat(2_100_000)),
          op('tone.score'),
        ),
      'the trial much-0 has over 10000 calls below it, or its scorers gave over 67108864 bytes',
    ],
  ])('refuse a trial with %s below it', async (_, make, message) => {
    await make();
    const id = message.split(' ')[2]!.replace('-0', '');
    for (const isKept of [false, true]) {
      if (isKept) await refreshed(app, 'trials');
      for (const more of [{}, { include_summary: true, include_rows: false }]) {
        const { status, body } = await query({ evaluation_call_ids: [id], ...more });
        expect([status, body.code]).toEqual([413, 'too_large']);
        expect(body.detail).toContain(message);
      }
    }
    const without = { evaluation_call_ids: [id], include_predict_and_score_children: false };
    expect((await query({ ...without, include_summary: true })).body.total_rows).toBe(1);
  });

  it('publish the op of predictions once, and list those of the service without the calls of others', async () => {
    const model = `svc:///${PROJECT}/object/${'m'.repeat(120)}:d1`;
    const made: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await app.post(`${V2}/predictions`, { model, inputs: { n }, output: n });
      made.push(body.prediction_id);
    }
    const found = await send(
      `${app.url}${V2}/predictions`,
      undefined,
      { authorization: basic(app.key) },
      'GET',
    );
    expect(linesOf(found).map(({ prediction_id }) => prediction_id)).toEqual(made);
    const ops = await app.query(
      `SELECT version_index FROM object_versions WHERE project_id = $1 AND object_id LIKE '%.predict'`,
      [PROJECT],
    );
    expect(ops).toEqual([{ version_index: 0 }]);
    // calls of an op that a client published are not read
    const explained = await app.query(
      `SELECT op_name FROM calls WHERE project_id = $1 AND id = $2`,
      [PROJECT, made[0]],
    );
    const [{ op_name }] = explained as [{ op_name: string }];
    const foreign = { attributes: { weave: { prediction: 'true' } }, inputs: {}, output: 1 };
    const call = { project_id: PROJECT, trace_id: 't', ...times, ...foreign };
    const batch = [
      { ...call, id: 'foreign', op_name: op('Model.predict') },
      { ...call, id: 'same op', op_name },
    ];
    await app.post(`${V2}/calls/complete`, { batch });
    const again = await send(
      `${app.url}${V2}/predictions`,
      undefined,
      { authorization: basic(app.key) },
      'GET',
    );
    expect(
      linesOf(again)
        .map(({ prediction_id }) => prediction_id)
        .toSorted(),
    ).toEqual([...made, 'same op'].toSorted());
  });
});

describe('a call that is erased', () => {
  it.each([['/calls/delete'], ['/calls/purge']])(
    'by %s takes its row with it, also what was kept of it, and the lineage lists what was made of it',
    async (path) => {
      const id = `erased${path}`;
      const trial = { output: 'a secret answer', scores: { right: true, why: 'a secret reason' } };
      await aRun(app, PROJECT, id, [
        { ...trial, example: { n: 1 } },
        { example: { n: 2 }, scores: { right: false } },
      ]);
      const kept = () =>
        app.query<{ texts: string }>(
          'SELECT k::text AS texts FROM kept_trials k WHERE run_id = $1',
          [id],
        );
      await refreshed(app, 'trials');
      expect((await kept())[0]!.texts).toContain('a secret reason');
      const added = await app.post('/datasets/add_from_calls', {
        project_id: PROJECT,
        object_id: `of-${path.slice(7)}`,
        call_ids: [`${id}-0`],
        columns: { answer: 'output.output' },
      });
      expect(added.status).toBe(200);
      expect((await app.post(path, { project_id: PROJECT, call_ids: [`${id}-0`] })).status).toBe(
        200,
      );

      const ask = () => query({ evaluation_call_ids: [id], include_summary: true });
      const { rows, summary } = (await ask()).body;
      expect(rows).toHaveLength(1);
      expect(summary.evaluations[0]).toMatchObject({ trial_count: 1 });
      await refreshed(app, 'trials');
      expect(await kept()).toHaveLength(1);
      expect((await kept())[0]!.texts).not.toMatch(/secret|-0"/);
      expect((await ask()).body.summary).toEqual(summary);
      const body = { project_id: PROJECT, call_ids: [`${id}-0`], erased: true };
      expect((await app.post('/datasets/lineage', body)).body.rows).toEqual([
        expect.objectContaining({ call_id: `${id}-0`, erased: true }),
      ]);

      await app.post(path, { project_id: PROJECT, call_ids: [id] });
      expect((await ask()).body.rows).toEqual([]);
      await refreshed(app, 'trials');
      expect(await kept()).toEqual([]);
    },
  );
});

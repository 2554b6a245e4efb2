import type { TestApp } from '../support/app.js';
import {
  counts,
  fresh,
  inPath,
  onPath,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { type Planted, refOf } from '../support/planted.js';

/** Makes a run with a prediction and a score that contain the marker. */
async function aRunOf({ project, marker }: Planted, app: TestApp) {
  const post = async (path: string, body: object) =>
    (await app.post(`/v2/${project}/${path}`, body)).body;
  const run = await post('evaluation_runs', { evaluation: marker, model: marker });
  const said = { model: marker, inputs: { marker }, output: marker };
  const prediction = await post('predictions', { ...said, ...run });
  const scorer = refOf(project, `object/${marker}:s1`);
  const score = await post('scores', { ...prediction, scorer, value: marker });
  await post(`predictions/${prediction.prediction_id}/finish`, {});
  return {
    run: run.evaluation_run_id as string,
    prediction: prediction.prediction_id as string,
    score: score.score_id as string,
  };
}

const TYPED_BODIES: Record<string, (marker: string) => object> = {
  ops: (marker) => ({ name: 'an op', source_code: marker }),
  datasets: (marker) => ({ name: 'a dataset', description: marker, rows: [{ n: 1 }] }),
  scorers: (marker) => ({ name: 'a scorer', op_source_code: '', description: marker }),
  evaluations: (marker) => ({ name: 'an exam', dataset: marker }),
  models: (marker) => ({ name: 'a model', source_code: marker }),
};

/** Makes a typed object that contains the marker. */
const aTyped =
  (kind: string, name?: () => string) =>
  async ({ project, marker }: Planted, app: TestApp) => {
    const body = { ...TYPED_BODIES[kind]!(marker), ...(name && { name: name() }) };
    const { object_id, digest } = (await app.post(`/v2/${project}/${kind}`, body)).body;
    return { object_id, digest };
  };

const TYPED_OBJECTS = Object.fromEntries(
  Object.entries(TYPED_BODIES).flatMap(([kind, body]): [string, Operation][] => {
    const path = `/v2/:entity/:project/${kind}`;
    return [
      [
        `POST ${path}`,
        writes(
          inPath(() => ({ ...body(fresh()), name: fresh() })),
          { changes: ['objects'] },
        ),
      ],
      [`GET ${path}`, reads(onPath(), { plant: aTyped(kind) })],
      [`GET ${path}/:object_id/versions/:digest`, reads(onPath(aTyped(kind)))],
      [
        `DELETE ${path}/:object_id`,
        writes(onPath(aTyped(kind, fresh)), {
          changes: ['objects'],
          harmless: 'what is deleted stays so',
        }),
      ],
    ];
  }),
);

export const evaluationsOperations: Record<string, Operation> = {
  ...TYPED_OBJECTS,
  'POST /v2/:entity/:project/evaluation_runs': writes(
    inPath(() => ({ evaluation: fresh(), model: 'm' })),
    { changes: ['calls'] },
  ),
  'GET /v2/:entity/:project/evaluation_runs': reads(onPath(), { plant: aRunOf }),
  'GET /v2/:entity/:project/evaluation_runs/:id': reads(
    onPath(async (planted, app) => ({ id: (await aRunOf(planted, app)).run })),
  ),
  'POST /v2/:entity/:project/evaluation_runs/:id/finish': writes(
    onPath(async (planted, app) => ({ id: (await aRunOf(planted, app)).run }), {}),
    { changes: ['calls', 'objects'], harmless: 'sums up again what is stored' },
  ),
  'DELETE /v2/:entity/:project/evaluation_runs': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?evaluation_run_ids=${(await aRunOf(planted, app)).run}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /v2/:entity/:project/predictions': writes(
    inPath(() => ({ model: 'm', inputs: {}, output: fresh() })),
    { changes: ['calls'] },
  ),
  'GET /v2/:entity/:project/predictions': reads(onPath(), { plant: aRunOf }),
  'GET /v2/:entity/:project/predictions/:id': reads(
    onPath(async (planted, app) => ({ id: (await aRunOf(planted, app)).prediction })),
  ),
  'POST /v2/:entity/:project/predictions/:id/finish': writes(
    onPath(async (planted, app) => ({ id: (await aRunOf(planted, app)).prediction }), {}),
    { changes: ['calls'], harmless: 'tells again what is stored' },
  ),
  'DELETE /v2/:entity/:project/predictions': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?prediction_ids=${(await aRunOf(planted, app)).prediction}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /v2/:entity/:project/scores': writes(
    inPath(async (planted, app) => ({
      prediction_id: (await aRunOf(planted, app)).prediction,
      scorer: refOf(planted.project, 'object/Scorer:s1'),
      value: true,
    })),
    { changes: ['calls', 'feedback', 'objects'] },
  ),
  'GET /v2/:entity/:project/scores': reads(onPath(), { plant: aRunOf }),
  'GET /v2/:entity/:project/scores/:id': reads(
    onPath(async (planted, app) => ({ id: (await aRunOf(planted, app)).score })),
  ),
  'DELETE /v2/:entity/:project/scores': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?score_ids=${(await aRunOf(planted, app)).score}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /v2/:entity/:project/eval_results/query': reads(
    inPath(async (planted, app) => ({
      evaluation_call_ids: [(await aRunOf(planted, app)).run],
      include_summary: true,
    })),
  ),
  'POST /v2/:entity/:project/eval_results/compare': counts(
    inPath(async (planted, app) => {
      const { run } = await aRunOf(planted, app);
      return { baseline_call_id: run, other_call_ids: [run] };
    }),
  ),
  'POST /evaluations/status': counts(withBody(() => ({ call_id: 'call that is not there' }))),
};

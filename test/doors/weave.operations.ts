import { agentSpan, aTurn, exportOf, traceId } from '../support/agents.js';
import type { TestApp } from '../support/app.js';
import { aStart, at } from '../support/factories.js';
import {
  counts,
  fresh,
  inPath,
  onPath,
  type Operation,
  pathOf,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { type Planted, refOf } from '../support/planted.js';
import { newEnd, newStart } from '../tracing/calls.operations.js';

/** Makes a run with a prediction and a score that contain the marker. */
export async function plantRun({ project, marker }: Planted, app: TestApp) {
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

/** Records a turn of a conversation with the marker in every member that may contain it. */
const recordTurn: NonNullable<Operation['plant']> = async ({ project, marker }, app) =>
  app.post(
    '/agents/otel/v1/traces',
    exportOf(
      aTurn({
        trace: 0xa9e,
        id: 0xa9e0,
        conversation: marker,
        agent: marker,
        version: marker,
        answer: marker,
        attributes: { [marker]: 'x' },
      }).map(agentSpan),
    ),
    { headers: { project_id: project } },
  );
const ofAgents = (build: (planted: Planted) => object = () => ({})) => ({
  ...reads(withBody(build)),
  plant: recordTurn,
});

export const weaveOperations: Record<string, Operation> = {
  'POST /v2/:entity/:project/calls/complete': writes(
    inPath(({ project }) => ({
      batch: [{ ...aStart({ project_id: project, id: fresh() }), ended_at: at(1) }],
    })),
    { changes: ['calls'], harmless: 'is an upsert by the ids of the calls' },
  ),
  'POST /v2/:entity/:project/call/start': writes(inPath(newStart), { changes: ['calls'] }),
  'POST /v2/:entity/:project/call/end': writes(inPath(newEnd), {
    changes: ['calls'],
    harmless: 'is an upsert by the id of the call',
  }),
  ...TYPED_OBJECTS,
  'POST /v2/:entity/:project/evaluation_runs': writes(
    inPath(() => ({ evaluation: fresh(), model: 'm' })),
    { changes: ['calls'] },
  ),
  'GET /v2/:entity/:project/evaluation_runs': reads(onPath(), { plant: plantRun }),
  'GET /v2/:entity/:project/evaluation_runs/:id': reads(
    onPath(async (planted, app) => ({ id: (await plantRun(planted, app)).run })),
  ),
  'POST /v2/:entity/:project/evaluation_runs/:id/finish': writes(
    onPath(async (planted, app) => ({ id: (await plantRun(planted, app)).run }), {}),
    { changes: ['calls', 'objects'], harmless: 'sums up again what is stored' },
  ),
  'DELETE /v2/:entity/:project/evaluation_runs': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?evaluation_run_ids=${(await plantRun(planted, app)).run}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /v2/:entity/:project/predictions': writes(
    inPath(() => ({ model: 'm', inputs: {}, output: fresh() })),
    { changes: ['calls'] },
  ),
  'GET /v2/:entity/:project/predictions': reads(onPath(), { plant: plantRun }),
  'GET /v2/:entity/:project/predictions/:id': reads(
    onPath(async (planted, app) => ({ id: (await plantRun(planted, app)).prediction })),
  ),
  'POST /v2/:entity/:project/predictions/:id/finish': writes(
    onPath(async (planted, app) => ({ id: (await plantRun(planted, app)).prediction }), {}),
    { changes: ['calls'], harmless: 'tells again what is stored' },
  ),
  'DELETE /v2/:entity/:project/predictions': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?prediction_ids=${(await plantRun(planted, app)).prediction}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /v2/:entity/:project/scores': writes(
    inPath(async (planted, app) => ({
      prediction_id: (await plantRun(planted, app)).prediction,
      scorer: refOf(planted.project, 'object/Scorer:s1'),
      value: true,
    })),
    { changes: ['calls', 'feedback', 'objects'] },
  ),
  'GET /v2/:entity/:project/scores': reads(onPath(), { plant: plantRun }),
  'GET /v2/:entity/:project/scores/:id': reads(
    onPath(async (planted, app) => ({ id: (await plantRun(planted, app)).score })),
  ),
  'DELETE /v2/:entity/:project/scores': writes(
    onPath(undefined, undefined, async (planted, app) => {
      return `?score_ids=${(await plantRun(planted, app)).score}`;
    }),
    { changes: ['calls'], harmless: 'what is deleted stays so' },
  ),
  'POST /agents/query': ofAgents(),
  'POST /agents/agent-versions/query': ofAgents(({ marker }) => ({ agent_name: marker })),
  'POST /agents/spans/query': ofAgents(),
  'POST /agents/spans/stats': ofAgents(() => ({
    ...{ start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' },
    group_by: [{ key: 'conversation_id' }],
  })),
  'POST /agents/spans/custom-attrs/schema': ofAgents(),
  'POST /agents/traces/chat': ofAgents(() => ({ trace_id: traceId(0xa9e) })),
  'POST /agents/conversations/chat': ofAgents(({ marker }) => ({ conversation_id: marker })),
  'POST /agents/conversations/spans': ofAgents(({ marker }) => ({ conversation_ids: [marker] })),
  'POST /agents/search': ofAgents(),
  'POST /completions/create': writes(
    withBody(() => ({ inputs: { model: 'echo', messages: [] } })),
    {
      changes: ['calls'],
      harmless: 'asks the provider again, as each request does',
    },
  ),
  'POST /completions/create_stream': writes(
    withBody(() => ({ inputs: { model: 'echo', messages: [] } })),
    {
      changes: ['calls'],
      harmless: 'asks the provider again, as each request does',
    },
  ),
  // GraphQL refuses with an error inside of the answer: see access-nested.e2e-spec.ts
  'POST /graphql': counts(
    (planted) => ({
      body: {
        query:
          'query P($entity: String, $project: String!) { project(entityName: $entity, name: $project) { name } }',
        variables: pathOf(planted),
      },
    }),
    { elsewhere: 200 },
  ),
};

import { createHash } from 'node:crypto';
import { aMediumOf } from './media.js';
import type { Role } from '../../src/platform/auth/api-key.entity.js';
import { KINDS } from '../../src/platform/database/changes.js';
import type { TestApp } from './app.js';
import { agentSpan, aTurn, exportOf, traceId } from './agents.js';
import { at, anEnd, aStart } from './factories.js';
import {
  aFileForm,
  aLeasedJob,
  aModelOf,
  aPrice,
  aQueuedJob,
  groupsWith,
  OBJECT,
  type Planted,
  refOf,
} from './planted.js';
import { aPairOf, trainingOf } from './trained.js';
import { manifestFile, previewOf, sha256Of } from './preview.js';
import { indexDefinition } from '../../src/tracing/calls/indexes/call-indexes.query.js';

/** A request about a planted project. The request itself does not contain the project's marker. */
export interface Sent {
  /** Values of the route's placeholders. */
  params?: Record<string, string>;
  /** The query string with its question mark. */
  query?: string | undefined;
  /** Sent as JSON, except forms and bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

export function sendTo(
  url: string,
  route: string,
  { params = {}, query = '', body, headers }: Sent,
  more: Record<string, string>,
): Promise<Response> {
  const [method, pattern] = route.split(' ') as [string, string];
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => params[name]!);
  const isForm = body instanceof FormData;
  const isSentAsIs = isForm || body instanceof Uint8Array;
  return fetch(url + path + query, {
    method,
    headers: { ...(!isForm && { 'content-type': 'application/json' }), ...more, ...headers },
    ...(body !== undefined && { body: isSentAsIs ? (body as FormData) : JSON.stringify(body) }),
  });
}

export const SCHEMES = ['basic', 'bearer'] as const;
export type Scheme = (typeof SCHEMES)[number];

export interface Operation {
  schemes: Scheme[];
  /** The least role that may call the operation. */
  role: Role;
  /** The status for a key that reaches other projects only: a refusal, or an answer without this project. */
  elsewhere: 200 | 204 | 403 | 404;
  /** The answer contains the marker of the project. */
  isShowing?: true;
  /** The request names no project. The answer may contain the markers of all projects that the key reaches. */
  isForAll?: true;
  /** Only callers that reach all projects may call it. */
  isForAllScopes?: true;
  /** The kinds of changes that watchers of the project are notified of. */
  changes?: string[];
  /** For a write without `Idempotency-Key`: the reason why repeating it is harmless, however late. */
  harmless?: string;
  /** Stores data with the marker in each planted project, for the operation to return. */
  plant?: (planted: Planted, app: TestApp) => Promise<unknown>;
  /** Builds a request that succeeds. It is built again for each key, so it may use up the things that it names. */
  build: (planted: Planted, app: TestApp) => Sent | Promise<Sent>;
}

/** Routes without authentication and their status. They return no data of a project. */
export const PUBLIC: Record<string, 200 | 401 | 403 | 404 | 405> = {
  'GET /health': 200,
  'GET /ready': 200,
  'GET /errors': 200,
  'GET /metrics': 200,
  'GET /server_info': 200,
  'GET /api/public/health': 200,
  // without a signature
  'GET /api/public/media/:id/content': 403,
  'PUT /api/public/media/:id/content': 403,
  'GET /openapi.json': 200,
  'POST /console/login': 401,
  'POST /console/logout': 401,
  // no such provider is configured
  'GET /auth/:provider/sign-in': 404,
  'GET /auth/:provider/callback': 404,
  'POST /auth/:provider/back-channel-logout': 404,
  'GET /mcp': 405,
  'DELETE /mcp': 405,
  'GET /docs': 200,
  'GET /docs/': 200,
  'GET /docs/index.html': 200,
  'GET /docs/LICENSE': 404,
  'GET /docs/swagger-ui-init.js': 200,
  'GET /docs/docs/swagger-ui-init.js': 200,
};

type Build = Operation['build'];
type Rest = Omit<Operation, 'build' | 'role'>;
type Row = (build: Build, rest?: Partial<Rest>) => Operation;

const rows =
  (scheme: Scheme, role: Role, common: Omit<Rest, 'schemes'>): Row =>
  (build, rest) => ({ schemes: [scheme], role, ...common, ...rest, build });

/** Operations that name the project in the body, so a key of another project gets 403. */
const reads = rows('basic', 'reader', { elsewhere: 403, isShowing: true });
const counts = rows('basic', 'reader', { elsewhere: 403 });
const writes = rows('basic', 'writer', { elsewhere: 403 });
const administers = rows('basic', 'admin', { elsewhere: 403 });
/** Preview operations, which name a model or a job. The answer 404 does not reveal whether the id exists. */
const previews = rows('bearer', 'reader', { elsewhere: 404, isShowing: true });
/** A list without any texts of clients. */
const lists = rows('bearer', 'reader', { elsewhere: 200, isForAll: true });
const changes = rows('bearer', 'writer', { elsewhere: 404 });
const trains = rows('bearer', 'trainer', { elsewhere: 404 });
const asks: Row = (build, rest) => ({
  schemes: [...SCHEMES],
  role: 'writer',
  elsewhere: 403,
  ...rest,
  build,
});

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

let numbers = 0;
const fresh = () => `fresh-${++numbers}`;

const withBody =
  (body: (planted: Planted) => object): Build =>
  (planted) => ({ body: { project_id: planted.project, ...body(planted) } });
const onlyProject = withBody(() => ({}));

const where = (field: string, value: string) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
});

const aFeedback = ({ project, callId }: Planted) => ({
  project_id: project,
  svc_ref: refOf(project, `call/${callId}`),
  feedback_type: 'custom',
  payload: { says: fresh() },
});

/** An event of Langfuse's ingestion. */
const ingested = (type: string, body: object) => ({
  type,
  id: fresh(),
  timestamp: '2026-01-31T12:00:00.000Z',
  body,
});

/** Makes a model with two steps, and a request for a gate between them. */
async function twoSteps({ project, marker }: Planted, app: TestApp): Promise<Sent> {
  const model = await aModelOf(app, project, marker);
  const { job, lease } = await aLeasedJob(app, model);
  await previewOf(app).start(job, lease);
  await previewOf(app).complete(job, lease);
  const gate = { score: { feedback: 'custom', path: 'says' } };
  return { body: { project_id: project, model_id: model.id, step: 1, gate } };
}

/** Makes a model with a step that was trained on two pairs of rollouts, one of which has been purged. */
async function aTaintedStep({ project, marker }: Planted, app: TestApp): Promise<Sent> {
  const training = trainingOf(app, project);
  const model_id = await training.aModel(fresh());
  const rollouts = [...aPairOf(`${fresh()} ${marker}`), ...aPairOf(`${fresh()} ${marker}`)];
  const { step } = await training.trained(model_id, rollouts);
  await training.purge(rollouts.slice(2).map(({ id }) => id));
  return { body: { project_id: project, model_id, step } };
}

async function aUser(app: TestApp, name: string): Promise<string> {
  const [{ id }] = await app.query(
    `INSERT INTO users (id, issuer, subject, email_verified, name, groups)
     VALUES (gen_random_uuid(), 'https://login.example.com', gen_random_uuid()::text, FALSE, $1, '{}') RETURNING id`,
    [name],
  );
  return id;
}

/** The id of the user who is planted in the project. */
async function memberOf(app: TestApp, project: string, marker: string): Promise<string> {
  const { body } = await app.post('/members/list', { scope: project });
  return body.members.find(({ name }: { name: string }) => name === marker).user_id;
}

/** Makes a queue with the marker in its name and the planted call in it. */
async function aQueue({ project, marker }: Pick<Planted, 'project' | 'marker'>, app: TestApp) {
  const made = { project_id: project, name: `${fresh()} ${marker}`, scorer_refs: [] };
  const { id } = (await app.post('/annotation_queues', made)).body;
  const added = { project_id: project, call_ids: ['call'], display_fields: [marker] };
  await app.post(`/annotation_queues/${id}/items`, added);
  const found = await app.post(`/annotation_queues/${id}/items/query`, { project_id: project });
  return { queue_id: id as string, item_id: found.body.items[0].id as string };
}
/** A request about a new queue. */
const ofQueue =
  (body: object): Build =>
  async (planted, app) => ({
    params: await aQueue(planted, app),
    body: { project_id: planted.project, ...body },
  });
const readQueue: Build = async (planted, app) => ({
  params: await aQueue(planted, app),
  query: `?project_id=${planted.project}`,
});

/** Makes a dataset with a row for each planted call. */
async function aDataset({ project, marker }: Pick<Planted, 'project' | 'marker'>, app: TestApp) {
  const columns = { marker: 'inputs.marker', call: 'id' };
  const filter = { trace_ids: [`trace.${marker}`] };
  const body = { project_id: project, object_id: `dataset-${fresh()}`, filter, columns };
  return (await app.post('/datasets/add_from_calls', body)).body.object_id as string;
}

const newStart = ({ project }: Planted) => ({ start: aStart({ project_id: project }) });
const aCall = async (planted: Planted, app: TestApp): Promise<string> =>
  (await app.post('/call/start', newStart(planted))).body.id;
const newEnd = async (planted: Planted, app: TestApp) => ({
  end: anEnd({ project_id: planted.project, id: await aCall(planted, app) }),
});

const pathOf = ({ project }: Pick<Planted, 'project'>) => {
  const [entity, name] = project.split('/') as [string, string];
  return { entity, project: name };
};
const inPath =
  (body: (planted: Planted, app: TestApp) => object | Promise<object>): Build =>
  async (planted, app) => ({ params: pathOf(planted), body: await body(planted, app) });

/** A request with the project and further parameters in its path. */
const onPath =
  (
    params: (planted: Planted, app: TestApp) => object | Promise<object> = () => ({}),
    body?: object,
    query: (planted: Planted, app: TestApp) => string | Promise<string> = () => '',
  ): Build =>
  async (planted, app) => ({
    params: { ...pathOf(planted), ...(await params(planted, app)) },
    ...(body && { body }),
    query: await query(planted, app),
  });

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
const plantRun = aRunOf;

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

const aSpan = () => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: (++numbers).toString(16).padStart(16, '0'),
  name: 'work',
  startTimeUnixNano: '1767225600123456789',
});
export const spansOf = (attributes: Record<string, string>, ...spans: object[]) => ({
  resource: {
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  },
  scopeSpans: [{ spans: spans.length > 0 ? spans : [aSpan()] }],
});
/** A log record with a message of a span that is not stored. */
const aLogRecord = (content: string) => ({
  ...aSpan(),
  eventName: 'gen_ai.user.message',
  body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: content } }] } },
});
const logs: Build = ({ project, marker }) => ({
  headers: { project_id: project },
  body: { resourceLogs: [{ scopeLogs: [{ logRecords: [aLogRecord(marker)] }] }] },
});
const spans: Build = ({ project }) => ({
  headers: { project_id: project },
  body: { resourceSpans: [spansOf({})] },
});

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

/** A request about tags of the planted object version. */
const ofVersion: Build = ({ project, objectDigest }) => ({
  params: { object_id: OBJECT, digest: objectDigest },
  body: { project_id: project, tags: [fresh()] },
});

const createFile: Build = ({ project }) => ({ body: aFileForm(project, fresh()) });
const readFile = withBody(({ fileDigest }) => ({ digest: fileDigest }));
const ofTable = withBody(({ tableDigest }) => ({ digest: tableDigest }));
const queryCalls = withBody(() => ({ include_costs: true, include_feedback: true }));

const aRow = (text: string) =>
  JSON.stringify({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: 'yes' },
    ],
  });

async function aTrainingData({ project }: Pick<Planted, 'project'>, app: TestApp, text = fresh()) {
  const query = new URLSearchParams(pathOf({ project })).toString();
  const response = await fetch(`${app.url}/v1/preview/training-data?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/jsonl' },
    body: aRow(text),
  });
  return (await response.json()) as { id: string; url: string };
}

const ofModel: Build = ({ model }) => ({ params: { id: model } });
const ofJob: Build = ({ job }) => ({ params: { id: job } });

/** A request of the trainer that holds the planted job. */
const byTrainer =
  (body?: object): Build =>
  ({ job, lease }) => ({ params: { id: job }, headers: { 'x-lease-token': lease }, body });

/** Makes a job whose trainer has uploaded a file `weights` that contains the marker. */
async function aJobWithFile({ project, marker }: Planted, app: TestApp) {
  const model = await aModelOf(app, project, 'm');
  const { job, lease } = await aLeasedJob(app, model);
  const preview = previewOf(app);
  await preview.start(job, lease);
  const bytes = Buffer.from(marker);
  await preview.part(job, lease, bytes);
  const file = manifestFile('weights', bytes);
  return { model, job, file, headers: { 'x-lease-token': lease }, lease };
}

/** Makes a checkpoint of step 1 with that file. */
const aCheckpointWithFile: Build = async (planted, app) => {
  const { model, job, file, lease } = await aJobWithFile(planted, app);
  const body = { metrics: {}, checkpoint: { files: [file], config: { of: planted.marker } } };
  const completed = await previewOf(app).trainer(job, lease, 'complete', body);
  if (completed.status !== 200) throw new Error(completed.text);
  return { params: { id: model.id, step: '1' } };
};

/** A request of a server that serves step 0 of the planted model. */
const servesModel =
  (more: object): Build =>
  ({ model }) => ({ body: { model_id: model, step: 0, provider: 'loras', ...more } });

async function plantServed({ project, model, marker }: Planted, app: TestApp): Promise<void> {
  const body = { model_id: model, step: 0, provider: 'loras', upstream_model: marker };
  await previewOf(app).call('POST', '/trainer/serving', { ...body, ttl_seconds: 600 });
  await app.query('INSERT INTO gateway_uses (key_id, day) VALUES ($1, now()) ON CONFLICT DO NOTHING', [marker]); // prettier-ignore
  await app.query(`INSERT INTO gateway_processes VALUES ($1, gen_random_uuid(), now(), now() + interval '1 hour')`, [project]); // prettier-ignore
}

const ASKED = { model: 'echo', messages: [] };
const ASKS_AGAIN = 'asks the provider again, as each request does';

/** A request that ends a new job. */
const endsJob =
  (body: object): Build =>
  async ({ project }, app) => {
    const { job, lease } = await aLeasedJob(app, await aModelOf(app, project, 'm'));
    await previewOf(app).start(job, lease);
    return { params: { id: job }, headers: { 'x-lease-token': lease }, body };
  };

/**
 * All operations that need a key, by route: the least role, the status for a key of another project, and a request that
 * succeeds. `access-matrix.long-spec.ts` sends each with every kind of key, `idempotency.e2e-spec.ts` sends each write
 * twice, and `events.long-spec.ts` checks the events of each.
 */
export const OPERATIONS: Record<string, Operation> = {
  'POST /mcp': {
    ...counts(({ project }) => ({
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'read_call', arguments: { project_id: project, id: 'call' } },
      },
    })),
    schemes: [...SCHEMES],
    // a tool refuses with a successful answer that has `isError`
    elsewhere: 200,
    isShowing: true,
  },
  'POST /keys/create': administers(({ project }) => ({
    // a person's key can create no key that expires later
    body: { user: 'bob', role: 'reader', scopes: [project], expires_at: TOMORROW },
  })),
  'POST /keys/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),
  'POST /keys/revoke': administers(
    async ({ project }, app) => {
      const body = { user: 'bob', role: 'reader', scopes: [project] };
      return { body: { id: (await app.post('/keys/create', body)).body.id } };
    },
    { elsewhere: 404 },
  ),

  'POST /members/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
    plant: async ({ project, marker }, app) => {
      const user = await aUser(app, marker);
      await app.post('/members/set', { scope: project, role: 'reader', user_id: user });
    },
  }),
  'POST /members/set': administers(async ({ project, marker }, app) => ({
    body: { scope: project, role: 'writer', user_id: await memberOf(app, project, marker) },
  })),
  'POST /members/remove': administers(
    async ({ project }, app) => {
      const body = { scope: project, role: 'reader', user_id: await aUser(app, fresh()) };
      return { body: { id: (await app.post('/members/set', body)).body.id } };
    },
    { elsewhere: 404 },
  ),
  'POST /users/list': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),

  'POST /users/deactivate': administers(
    async (_, app) => ({ body: { id: await aUser(app, fresh()) } }),
    { isForAllScopes: true },
  ),
  'POST /users/activate': administers(
    async (_, app) => ({ body: { id: await aUser(app, fresh()) } }),
    { isForAllScopes: true },
  ),

  'GET /me': counts(() => ({}), { schemes: ['basic', 'bearer'], elsewhere: 200 }),

  'POST /projects/query': counts(() => ({ body: {} }), {
    schemes: ['basic', 'bearer'],
    elsewhere: 200,
  }),
  'POST /project/stats': counts(onlyProject),
  'POST /files/query_stats': counts(onlyProject),
  'POST /service/projects_info': counts(({ project }) => ({ body: { project_ids: [project] } }), {
    elsewhere: 200,
  }),
  'POST /project/ttl_settings/read': counts(onlyProject),
  'POST /project/ttl_settings/update': administers(withBody(() => ({ retention_days: 3650 }))),
  // the stream never ends, so only the head of the answer is read
  'GET /events': counts(({ project }) => ({ query: `?project_id=${project}` }), {
    schemes: ['basic', 'bearer'],
  }),

  'POST /audit/query': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),
  'POST /index/create': administers(withBody(() => ({ field: 'inputs.marker' }))),
  'POST /index/list': administers(onlyProject, { harmless: 'reads' }),
  'POST /index/delete': administers(async ({ project }, app) => {
    const { name, field } = indexDefinition(project, `inputs.${fresh()}`, 'text');
    // inserted by SQL, because a project may not have so many
    await app.query(
      `INSERT INTO call_indexes (project_id, name, field, kind) VALUES ($1, $2, $3, 'text')`,
      [project, name, field],
    );
    return { body: { project_id: project, field } };
  }),
  'POST /retention/set': administers(withBody(() => ({ calls_days: null, payload_days: 36_500 }))),
  'POST /retention/read': counts(onlyProject),
  'POST /calls/purge': administers(
    async (planted, app) => ({
      body: { project_id: planted.project, call_ids: [await aCall(planted, app)] },
    }),
    { changes: ['calls', 'feedback'] },
  ),
  'POST /objs/purge': administers(
    async ({ project }, app) => {
      const obj = { project_id: project, object_id: fresh(), val: 1 };
      await app.post('/obj/create', { obj });
      return { body: { project_id: project, object_id: obj.object_id } };
    },
    { changes: ['feedback', 'objects'] },
  ),

  'POST /call/start': writes((planted) => ({ body: newStart(planted) }), { changes: ['calls'] }),
  'POST /call/end': writes(async (planted, app) => ({ body: await newEnd(planted, app) }), {
    changes: ['calls'],
    harmless: 'is an upsert by the id of the call',
  }),
  // each item is refused separately: see access-nested.e2e-spec.ts
  'POST /call/upsert_batch': writes(
    ({ project, callId }) => {
      const start = aStart({ project_id: project, parent_id: callId });
      return { body: { batch: [{ mode: 'start', req: { start } }] } };
    },
    { elsewhere: 200, changes: ['calls'] },
  ),
  'POST /call/read': reads(withBody(({ callId }) => ({ id: callId, include_costs: true }))),
  'POST /call/update': writes(
    withBody(({ callId }) => ({ call_id: callId, display_name: fresh() })),
    { changes: ['calls'] },
  ),
  'POST /calls/stream_query': reads(queryCalls),
  'POST /calls/query': reads(queryCalls),
  'POST /calls/query_stats': counts(onlyProject),
  'POST /calls/stats': reads(
    withBody(() => ({
      start: '2020-01-01',
      end: '2030-01-01',
      call_metrics: [{ metric: 'call_count' }],
      usage_metrics: [{ metric: 'total_cost' }],
      group_by: ['op_name'],
    })),
  ),
  'POST /calls/usage': reads(
    withBody(({ callId }) => ({ call_ids: [callId], include_costs: true })),
  ),
  'POST /trace/usage': reads(
    withBody(({ traceId }) => ({ filter: { trace_ids: [traceId] }, include_costs: true })),
  ),
  'POST /calls/delete': writes(
    async (planted, app) => ({
      body: { project_id: planted.project, call_ids: [await aCall(planted, app)] },
    }),
    { changes: ['calls'] },
  ),
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
  'POST /threads/stream_query': reads(onlyProject),
  'POST /threads/turns/query': reads(withBody(({ callId }) => ({ turn_ids: [callId] }))),

  ...TYPED_OBJECTS,
  'POST /v2/:entity/:project/evaluation_runs': writes(
    inPath(() => ({ evaluation: fresh(), model: 'm' })),
    { changes: ['calls'] },
  ),
  'GET /v2/:entity/:project/evaluation_runs': reads(onPath(), { plant: plantRun }),
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
  'GET /v2/:entity/:project/predictions': reads(onPath(), { plant: plantRun }),
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
  'GET /v2/:entity/:project/scores': reads(onPath(), { plant: plantRun }),
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
  'POST /evaluations/status': counts(withBody(() => ({ call_id: 'call that is not there' }))),

  'POST /obj/create': writes(
    ({ project }) => ({
      body: { obj: { project_id: project, object_id: OBJECT, val: fresh() } },
    }),
    { changes: ['objects'] },
  ),
  'POST /obj/read': reads(
    withBody(({ objectDigest }) => ({ object_id: OBJECT, digest: objectDigest })),
  ),
  'POST /obj/delete': writes(
    async ({ project }, app) => {
      const obj = { project_id: project, object_id: fresh(), val: 1 };
      await app.post('/obj/create', { obj });
      return { body: { project_id: project, object_id: obj.object_id } };
    },
    { changes: ['objects'] },
  ),
  'POST /objs/query': reads(onlyProject),
  'POST /datasets/add_from_calls': writes(
    withBody(({ callId }) => ({
      object_id: `dataset-${fresh()}`,
      call_ids: [callId],
      columns: { marker: 'inputs.marker' },
    })),
    { changes: ['objects'] },
  ),
  'POST /datasets/remove_rows': writes(
    async (planted, app) => ({
      body: {
        project_id: planted.project,
        object_id: await aDataset(planted, app),
        row_digests: [],
      },
    }),
    { changes: ['objects'] },
  ),
  'POST /datasets/split': writes(
    async ({ project }, app) => {
      const rows = Array.from({ length: 50 }, (_, n) => ({ n }));
      const table = await app.post('/table/create', { table: { project_id: project, rows } });
      const ref = refOf(project, `table/${table.body.digest}`);
      const val = { _class_name: 'Dataset', rows: ref };
      await app.post('/obj/create', { obj: { project_id: project, object_id: 'numbers', val } });
      const parts = [fresh(), fresh()].map((object_id) => ({ object_id, fraction: 0.5 }));
      return { body: { project_id: project, object_id: 'numbers', parts } };
    },
    { changes: ['objects'] },
  ),
  'POST /datasets/lineage': {
    ...reads(onlyProject),
    plant: async (planted, app) => aDataset(planted, app),
  },
  'PUT /objs/:object_id/aliases': writes(
    ({ project, objectDigest }) => ({
      params: { object_id: OBJECT },
      body: { project_id: project, digest: objectDigest, aliases: [fresh()] },
    }),
    { changes: ['objects'] },
  ),
  'POST /objs/:object_id/aliases/remove': writes(
    ({ project }) => ({
      params: { object_id: OBJECT },
      body: { project_id: project, aliases: [fresh()] },
    }),
    { changes: ['objects'] },
  ),
  'PUT /objs/:object_id/versions/:digest/tags': writes(ofVersion, { changes: ['objects'] }),
  'POST /objs/:object_id/versions/:digest/tags/remove': writes(ofVersion, { changes: ['objects'] }),
  'GET /tags': reads(({ project }) => ({ query: `?project_id=${project}` })),
  'GET /aliases': reads(({ project }) => ({ query: `?project_id=${project}` })),
  'POST /annotation_queues': writes(
    withBody(() => ({ name: fresh(), scorer_refs: [] })),
    {
      changes: ['annotation'],
    },
  ),
  'POST /annotation_queues/query': {
    ...reads(onlyProject),
    plant: async (planted, app) => {
      const params = await aQueue(planted, app);
      const route = `/annotation_queues/${params.queue_id}/items/next`;
      await app.post(route, { project_id: planted.project });
    },
  },
  'POST /annotation_queues/stats': counts(withBody(() => ({ queue_ids: ['q'] }))),
  'GET /annotation_queues/:queue_id': reads(readQueue),
  'PUT /annotation_queues/:queue_id': writes(ofQueue({ description: 'd' }), {
    changes: ['annotation'],
  }),
  'DELETE /annotation_queues/:queue_id': writes(readQueue, { changes: ['annotation'] }),
  'POST /annotation_queues/:queue_id/items': writes(
    ofQueue({ call_ids: ['call'], display_fields: [] }),
    { changes: ['annotation'] },
  ),
  'POST /annotation_queues/:queue_id/items/query': reads(ofQueue({})),
  'POST /annotation_queues/:queue_id/items/next': writes(ofQueue({}), { changes: ['annotation'] }),
  'POST /annotation_queues/:queue_id/items/:item_id/progress': writes(
    ofQueue({ annotation_state: 'completed' }),
    { changes: ['annotation'] },
  ),
  'POST /refs/read_batch': reads(({ project, objectDigest }) => ({
    body: { refs: [refOf(project, `object/${OBJECT}:${objectDigest}`)] },
  })),

  'POST /table/create': writes(
    ({ project }) => ({
      body: { table: { project_id: project, rows: [{ a: fresh() }] } },
    }),
    { changes: ['objects'], harmless: 'stores rows by their digests' },
  ),
  'POST /table/update': writes(
    withBody(({ tableDigest }) => ({
      base_digest: tableDigest,
      updates: [{ append: { row: { a: fresh() } } }],
    })),
    {
      changes: ['objects'],
      harmless: 'stores rows by their digests, and leaves the table it starts from as it is',
    },
  ),
  'POST /table/create_from_digests': writes(
    withBody(({ rowDigest }) => ({ row_digests: [rowDigest, rowDigest] })),
    { changes: ['objects'], harmless: 'stores a table by its digest' },
  ),
  'POST /table/query': reads(ofTable),
  'POST /table/query_stats': counts(ofTable),
  'POST /table/query_stats_batch': counts(
    withBody(({ tableDigest }) => ({ digests: [tableDigest] })),
  ),

  'POST /file/create': writes(createFile, {
    changes: ['objects'],
    harmless: 'stores bytes by their digest',
  }),
  'POST /files/create': writes(createFile, {
    changes: ['objects'],
    harmless: 'stores bytes by their digest',
  }),
  'POST /file/content': reads(readFile),
  'POST /files/content': reads(readFile),

  'POST /cost/create': writes(
    withBody(() => ({ costs: { [fresh()]: aPrice } })),
    { changes: ['costs'] },
  ),
  'POST /cost/query': reads(onlyProject),
  'POST /cost/purge': writes(
    async ({ project }, app) => {
      const name = fresh();
      await app.post('/cost/create', { project_id: project, costs: { [name]: aPrice } });
      return { body: { project_id: project, query: where('llm_id', name) } };
    },
    { changes: ['costs'] },
  ),
  'POST /cost/explain': reads(withBody(({ callId }) => ({ call_ids: [callId] }))),

  'POST /feedback/create': writes((planted) => ({ body: aFeedback(planted) }), {
    changes: ['feedback'],
  }),
  'POST /feedback/batch/create': writes((planted) => ({ body: { batch: [aFeedback(planted)] } }), {
    elsewhere: 200,
    changes: ['feedback'],
  }),
  'POST /feedback/query': reads(onlyProject),
  'POST /feedback/aggregate': counts(
    withBody(() => ({ after_ms: 0, before_ms: 253_402_300_799_999, group_by: ['scorer_id'] })),
  ),
  'POST /feedback/payload_schema': counts(withBody(() => ({ start: '2020-01-01T00:00:00Z' }))),
  'POST /feedback/stats': counts(
    withBody(() => ({ start: '2020-01-01', end: '2030-01-01', metrics: [{ json_path: 'says' }] })),
  ),
  'POST /feedback/purge': writes(
    async (planted, app) => {
      const { id } = (await app.post('/feedback/create', aFeedback(planted))).body;
      return { body: { project_id: planted.project, query: where('id', id) } };
    },
    { changes: ['feedback'] },
  ),
  'POST /feedback/replace': writes(
    (planted) => ({
      body: { ...aFeedback(planted), feedback_id: fresh() },
    }),
    { changes: ['feedback'] },
  ),

  ...Object.fromEntries(
    ['/otel/v1/traces', '/v1/traces', '/agents/otel/v1/traces', '/api/public/otel/v1/traces'].map(
      (path) => [
        `POST ${path}`,
        writes(spans, {
          schemes: ['basic', 'bearer'],
          changes: ['calls'],
          harmless: 'is an upsert by the ids of the spans',
        }),
      ],
    ),
  ),
  ...Object.fromEntries(
    ['/otel/v1/logs', '/v1/logs'].map((path) => [
      `POST ${path}`,
      writes(logs, {
        schemes: ['basic', 'bearer'],
        changes: ['calls'],
        harmless: 'is a union of log records',
      }),
    ]),
  ),
  ...Object.fromEntries(
    ['/otel/v1/metrics', '/v1/metrics'].map((path) => [
      `POST ${path}`,
      writes(() => ({ body: {} }), {
        schemes: ['basic', 'bearer'],
        elsewhere: 200,
        harmless: 'stores nothing',
      }),
    ]),
  ),
  'POST /api/public/ingestion': writes(
    ({ project, callId }) => ({
      headers: { project_id: project },
      body: {
        batch: [
          ingested('trace-create', { id: fresh(), name: 'said' }),
          ingested('span-update', { id: callId, level: 'DEFAULT' }),
          ingested('score-create', { traceId: callId, name: 'good', value: 1 }),
        ],
      },
    }),
    { changes: ['calls', 'feedback'], harmless: 'is an upsert by the ids that the events name' },
  ),
  'POST /api/public/scores': writes(
    ({ project, callId }) => ({
      headers: { project_id: project },
      body: { name: fresh(), value: 1, traceId: callId },
    }),
    {
      changes: ['feedback'],
      harmless: 'replaces the score with the id, which SDKs send with each: ADR 55',
    },
  ),
  'POST /api/public/media': writes(
    ({ project }) => ({
      headers: { project_id: project },
      body: {
        traceId: 't',
        field: 'input',
        contentType: 'image/png',
        contentLength: 3,
        sha256Hash: createHash('sha256').update(fresh()).digest('base64'),
      },
    }),
    { harmless: 'announces the same bytes again' },
  ),
  'PATCH /api/public/media/:id': writes(
    async (planted, app) => ({
      headers: { project_id: planted.project },
      params: { id: await aMediumOf(planted, app) },
      body: { uploadHttpStatus: 200 },
    }),
    { harmless: 'changes nothing' },
  ),
  'GET /api/public/media/:id': {
    ...counts(async (planted, app) => ({
      headers: { project_id: planted.project },
      params: { id: await aMediumOf(planted, app) },
    })),
    plant: aMediumOf,
  },
  'GET /api/public/projects': counts(({ project }) => ({ headers: { project_id: project } })),
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

  'POST /build/preview': reads(
    withBody(({ recipeRef }) => ({ recipe_ref: recipeRef, samples: 20 })),
  ),
  'POST /build/create': writes(
    withBody(({ recipeRef }) => ({ recipe_ref: recipeRef, mode: 'all' })),
    { changes: ['builds'] },
  ),
  'POST /build/submit': writes(
    withBody(({ build, model }) => ({ build_id: build, model_id: model })),
    { changes: ['jobs'] },
  ),
  'POST /build/export': reads(withBody(({ build }) => ({ build_id: build, format: 'art' }))),
  'POST /builds/query': reads(onlyProject),
  'POST /lineage/query': reads(withBody(({ build }) => ({ build_id: build }))),

  'POST /lineage/tainted': counts(withBody(({ ownCallId }) => ({ call_ids: [ownCallId] }))),
  'POST /lineage/retrain': writes(aTaintedStep, {
    changes: ['builds', 'jobs'],
    harmless: 'the job that was queued before is answered',
  }),

  'POST /models/promote': writes(
    async (planted, app) => ({
      body: {
        project_id: planted.project,
        model_id: (await aModelOf(app, planted.project, planted.marker)).id,
        step: 0,
        by_hand: true,
      },
    }),
    {
      changes: ['models'],
      plant: ({ project, model }, app) =>
        app.post('/models/promote', {
          project_id: project,
          model_id: model,
          step: 0,
          by_hand: true,
        }),
    },
  ),
  'POST /models/gate': counts(twoSteps),
  'POST /models/aliases/query': counts(withBody(({ model }) => ({ model_id: model }))),

  'POST /v1/preview/models': changes(
    (planted) => ({ body: { ...pathOf(planted), name: fresh(), base_model: 'b' } }),
    { elsewhere: 403, changes: ['models'] },
  ),
  'GET /v1/preview/models': previews(() => ({}), { elsewhere: 200, isForAll: true }),
  'DELETE /v1/preview/models/:id': changes(
    async ({ project }, app) => ({
      params: { id: (await aModelOf(app, project, 'm')).id },
    }),
    { changes: ['models'] },
  ),
  'GET /v1/preview/models/:id/checkpoints': previews(ofModel),
  'DELETE /v1/preview/models/:id/checkpoints': changes(
    async ({ project }, app) => {
      const model = await aModelOf(app, project, 'm');
      const { job, lease } = await aLeasedJob(app, model);
      await previewOf(app).start(job, lease);
      await previewOf(app).complete(job, lease); // the latest checkpoint cannot be deleted, so this makes another one
      return { params: { id: model.id }, body: { steps: [0] } };
    },
    { changes: ['models'] },
  ),
  'GET /v1/preview/models/:id/checkpoints/:step': previews(aCheckpointWithFile),
  'GET /v1/preview/models/:id/checkpoints/:step/file': previews(async (planted, app) => ({
    ...(await aCheckpointWithFile(planted, app)),
    query: '?name=weights',
  })),
  'POST /v1/preview/models/:model_id/log': changes(
    ({ model }) => ({
      params: { model_id: model },
      body: { split: 'train', trajectory_groups: groupsWith(fresh()) },
    }),
    { changes: ['models'] },
  ),
  'POST /v1/preview/training-jobs': changes(
    ({ model }) => ({
      body: { model_id: model, trajectory_groups: groupsWith(fresh()) },
    }),
    { changes: ['jobs'] },
  ),
  'GET /v1/preview/training-jobs': previews(() => ({}), {
    elsewhere: 200,
    isForAll: true,
  }),
  'GET /v1/preview/training-jobs/:id': previews(ofJob),
  'POST /v1/preview/training-jobs/:id/cancel': changes(
    async ({ project }, app) => ({
      params: { id: await aQueuedJob(app, await aModelOf(app, project, 'm')) },
    }),
    { changes: ['jobs'] },
  ),
  'GET /v1/preview/training-jobs/:id/events': previews(ofJob),
  'POST /v1/preview/sft-training-jobs': changes(
    async (planted, app) => ({
      body: { model_id: planted.model, training_data_url: (await aTrainingData(planted, app)).url },
    }),
    { changes: ['jobs'] },
  ),
  'POST /v1/preview/training-data': changes(
    (planted) => ({
      query: `?${new URLSearchParams(pathOf(planted)).toString()}`,
      headers: { 'content-type': 'application/jsonl' },
      body: Buffer.from(aRow(fresh())),
    }),
    {
      elsewhere: 403,
      plant: ({ project, marker }, app) => aTrainingData({ project }, app, marker),
    },
  ),
  'GET /v1/preview/training-data': lists(() => ({})),
  'DELETE /v1/preview/training-data/:id': changes(
    async (planted, app) => ({ params: { id: (await aTrainingData(planted, app)).id } }),
    { harmless: 'finds nothing the second time' },
  ),
  'POST /v1/preview/trajectories/query': previews(({ model }) => ({ body: { model_id: model } })),

  'POST /v1/preview/trainer/claims': trains(
    async ({ project, marker }, app) => {
      const model = await aModelOf(app, project, marker);
      await aQueuedJob(app, model, marker);
      return { body: { worker_id: 'w', base_models: [model.base] } };
    },
    {
      elsewhere: 204,
      isShowing: true,
      changes: ['jobs'],
      harmless: 'leases a job for a time only; its token must not be kept',
    },
  ),
  'GET /v1/preview/trainer/jobs/:id/payload': trains(byTrainer(), { isShowing: true }),
  'GET /v1/preview/trainer/jobs/:id/file': trains(
    async (planted, app) => {
      const { job, file, headers, lease } = await aJobWithFile(planted, app);
      await previewOf(app).trainer(job, lease, 'state', { files: [file] });
      return { params: { id: job }, query: '?of=state&name=weights', headers };
    },
    { isShowing: true },
  ),
  'GET /v1/preview/trainer/jobs/:id/parts': trains(byTrainer()),
  'POST /v1/preview/trainer/jobs/:id/parts': trains(
    ({ job, lease }) => {
      const body = Buffer.from(fresh());
      return {
        params: { id: job },
        query: `?file=${sha256Of(body)}&part=0`,
        headers: { 'x-lease-token': lease, 'content-type': 'application/octet-stream' },
        body,
      };
    },
    {
      harmless: 'a part that is here stays as it is',
      plant: async ({ job, lease, marker }, app) =>
        previewOf(app).part(job, lease, Buffer.from(marker)),
    },
  ),
  'POST /v1/preview/trainer/jobs/:id/state': trains(
    async (planted, app) => {
      const { job, file, headers } = await aJobWithFile(planted, app);
      return { params: { id: job }, headers, body: { files: [file] } };
    },
    { harmless: 'counts for the holder of the lease only, and names the same files' },
  ),
  'POST /v1/preview/trainer/jobs/:id/heartbeat': trains(byTrainer(), {
    harmless: 'counts for the holder of the lease only',
  }),
  'POST /v1/preview/trainer/jobs/:id/events': trains(
    byTrainer({ events: [{ seq: 2, type: 'gradient_step', data: { loss: 1 } }] }),
    { changes: ['jobs'], harmless: 'is told apart by the numbers of the events' },
  ),
  'POST /v1/preview/trainer/jobs/:id/complete': trains(
    endsJob({ metrics: {}, checkpoint: { uri: 'file:///c' } }),
    { changes: ['jobs', 'models'], harmless: 'counts for the holder of the lease only, and once' },
  ),
  'POST /v1/preview/trainer/jobs/:id/fail': trains(
    endsJob({ error_message: 'no', retryable: false }),
    { changes: ['jobs'], harmless: 'counts for the holder of the lease only, and once' },
  ),

  'POST /v1/preview/trainer/serving': trains(
    servesModel({ upstream_model: 'lora', ttl_seconds: 60 }),
    {
      changes: ['models'],
      harmless: 'says the same again, for a time only',
    },
  ),
  'POST /v1/preview/trainer/serving/end': trains(
    async (planted, app) => {
      await plantServed(planted, app);
      return servesModel({})(planted, app);
    },
    { changes: ['models'], harmless: 'says the same again' },
  ),
  'GET /v1/preview/trainer/models': trains(() => ({}), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
  }),
  'GET /v1/preview/trainer/models/:id/checkpoints/:step/files': trains(aCheckpointWithFile, {
    isShowing: true,
  }),
  'GET /v1/preview/trainer/models/:id/checkpoints/:step/file': trains(
    async (planted, app) => ({
      ...(await aCheckpointWithFile(planted, app)),
      query: '?name=weights',
    }),
    { isShowing: true },
  ),

  'GET /v1/models': asks(() => ({}), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    plant: plantServed,
  }),
  'POST /v1/chat/completions': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', messages: [] },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
  'POST /v1/completions': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', prompt: 'a' },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
  'POST /v1/responses': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', input: 'a' },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
  'POST /completions/create': writes(
    withBody(() => ({ inputs: ASKED })),
    {
      changes: ['calls'],
      harmless: ASKS_AGAIN,
    },
  ),
  'POST /completions/create_stream': writes(
    withBody(() => ({ inputs: ASKED })),
    {
      changes: ['calls'],
      harmless: ASKS_AGAIN,
    },
  ),

  // must be last: it leaves no data for other operations
  'POST /project/delete': administers(onlyProject, { changes: [...KINDS] }),
};

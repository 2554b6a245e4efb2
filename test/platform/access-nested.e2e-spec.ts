import { type Answer, startApp, type TestApp } from '../support/app.js';
import { spansOf } from '../doors/otel.operations.js';
import { anEnd, aStart, at } from '../support/factories.js';
import {
  aLeasedJob,
  aModelOf,
  aPrice,
  contents,
  groupsWith,
  OBJECT,
  plant,
  type Planted,
  REFUSED_VALUE,
  refOf,
  SCHEMA_OBJECT,
} from '../support/planted.js';
import { previewOf } from '../support/preview.js';

/** Tests requests about one project that name things of another project inside of them. */
const MINE = 'acme/demo';
const THEIRS = 'acme/demo2';
/** A model that has a price in `THEIRS` only. */
const THEIR_LLM = 'their-llm';

let app: TestApp;
let mine: Planted;
let theirs: Planted;
let theirContents: Record<string, string>;
/** Keys that reach `MINE` only, except `stranger`, which reaches `THEIRS` only. */
const keys = { writer: '', another: '', trainer: '', stranger: '' };
/** The answers to `keys` in a test. */
let heard: Answer[] = [];

beforeAll(async () => {
  app = await startApp({ TRAINER_LEASE_SECONDS: '600' });
  mine = await plant(app, MINE);
  theirs = await plant(app, THEIRS);
  await app.post('/cost/create', { project_id: THEIRS, costs: { [THEIR_LLM]: aPrice } });
  keys.writer = await app.aKey('writer', [MINE]);
  keys.another = await app.aKey('writer', [MINE]);
  keys.trainer = await app.aKey('trainer', [MINE]);
  keys.stranger = await app.aKey('writer', [THEIRS]);
});
afterAll(() => app.close());

beforeEach(async () => {
  heard = [];
  theirContents = await contents(app, THEIRS);
});
afterEach(async () => {
  expect(heard.filter(({ text }) => text.includes(theirs.marker))).toEqual([]);
  expect(await contents(app, THEIRS)).toEqual(theirContents);
});

interface Options {
  by?: keyof typeof keys;
  headers?: Record<string, string>;
}

const hear = async (asked: Promise<Answer>) => {
  const answer = await asked;
  heard.push(answer);
  return answer;
};
const post = (path: string, body: unknown, { by = 'writer', headers = {} }: Options = {}) =>
  hear(app.post(path, body, { key: keys[by], headers }));
const preview = (
  method: string,
  path: string,
  body?: unknown,
  { by = 'writer', headers = {} }: Options = {},
) => hear(previewOf(app).call(method, path, body, { key: keys[by], headers }));

const aCall = (project_id: string, overrides: object = {}) => aStart({ project_id, ...overrides });
const aFeedback = (project_id: string, overrides: object = {}) => ({
  project_id,
  svc_ref: refOf(project_id, 'call/call'),
  feedback_type: 'custom',
  payload: { says: 'something' },
  ...overrides,
});
const FORBIDDEN = { code: 'forbidden', detail: expect.stringContaining(THEIRS) };

describe('items of a batch', () => {
  it('/call/upsert_batch refuses those of another project, each in its place', async () => {
    const { status, body } = await post('/call/upsert_batch', {
      batch: [
        { mode: 'start', req: { start: aCall(MINE) } },
        { mode: 'start', req: { start: aCall(THEIRS, { id: 'call' }) } },
        { mode: 'end', req: { end: anEnd({ project_id: THEIRS, id: 'call' }) } },
      ],
    });
    expect(status).toBe(200);
    expect(body.res).toEqual([
      { id: expect.any(String), trace_id: expect.any(String) },
      { error: FORBIDDEN },
      { error: FORBIDDEN },
    ]);
  });

  it('/v2/…/calls/complete refuses those of another project than that of the path', async () => {
    const batch = [MINE, THEIRS].map((project) => ({
      ...aCall(project, { id: 'completed' }),
      ended_at: at(1),
    }));
    const { status, body } = await post(`/v2/${MINE}/calls/complete`, { batch });
    const { code, detail: message } = FORBIDDEN;
    expect([status, body.errors]).toEqual([
      422,
      [{ path: 'batch[1]', id: 'completed', code, message }],
    ]);
    const wide = await app.post(`/v2/${MINE}/calls/complete`, { batch });
    expect(wide.body.errors).toMatchObject([{ path: 'batch[1]', code: 'invalid_request' }]);
  });

  it('/feedback/batch/create refuses one of another project in its place', async () => {
    const before = await contents(app, THEIRS);
    const other = { feedback_type: 'other' };
    const batch = [aFeedback(MINE, other), aFeedback(THEIRS, other)];
    const { body } = await post('/feedback/batch/create', { batch });
    expect(body.res).toEqual([
      expect.objectContaining({ id: expect.any(String) }),
      { error: expect.objectContaining({ code: 'forbidden' }) },
    ]);
    expect(await contents(app, THEIRS)).toEqual(before);
  });

  it('/refs/read_batch reads nothing when one ref leads elsewhere', async () => {
    const refs = [mine, theirs].map(({ project, objectDigest }) =>
      refOf(project, `object/${OBJECT}:${objectDigest}`),
    );
    expect((await post('/refs/read_batch', { refs })).body).toMatchObject(FORBIDDEN);
  });
});

describe('paths of v2', () => {
  it.each([
    [MINE, THEIRS],
    [THEIRS, MINE],
  ])('the path names %s and the body %s', async (path, project) => {
    const start = { start: aCall(project) };
    const end = { end: anEnd({ project_id: project, id: 'call' }) };
    expect((await post(`/v2/${path}/call/start`, start)).status).toBe(403);
    expect((await post(`/v2/${path}/call/end`, end)).status).toBe(403);
    expect((await app.post(`/v2/${path}/call/start`, start)).status).toBe(400);
    expect((await app.post(`/v2/${path}/call/end`, end)).status).toBe(400);
  });

  it.each(['acme%2Fdemo/x', 'acme/demo%2F..%2Fdemo2', 'acme/demo%00'])(
    '%s is no way around',
    async (path) => {
      const start = (project: string) => ({ start: aCall(project) });
      expect((await post(`/v2/${path}/call/start`, start(THEIRS))).status).toBe(403);
      expect((await post(`/v2/${path}/call/start`, start(MINE))).status).toBe(400);
    },
  );
});

describe('the parent of a call', () => {
  it.each<[string, string]>([
    ['a key of the project', 'writer'],
    ['a key of both projects', ''],
  ])('hands down no trace from another project to %s', async (_, by) => {
    const as = (path: string, body: object) =>
      by ? post(path, body) : app.post(path, body, { key: app.key });
    const start = aCall(MINE, { parent_id: theirs.ownCallId });
    const req = { start };
    const batch = [
      { mode: 'start', req },
      { mode: 'end', req: { end: anEnd({ project_id: MINE, id: 'x' }) } },
    ];
    const traces = [
      (await as('/call/start', { start })).body.trace_id,
      (await as(`/v2/${MINE}/call/start`, { start })).body.trace_id,
      (await as('/call/upsert_batch', { batch })).body.res[0].trace_id,
    ];
    for (const trace of traces) expect(trace).toMatch(/^[0-9a-f-]{36}$/);
    const found = await as('/calls/query', {
      project_id: MINE,
      filter: { parent_ids: [theirs.ownCallId] },
    });
    expect(found.body.calls.length).toBeGreaterThanOrEqual(3);
    expect(found.text).not.toContain(theirs.marker);
  });
});

describe('refs', () => {
  it('lead from a value into a table of its own project, and into none of another', async () => {
    const rowBy = async ({ project, tableDigest, rowDigest }: Planted) => {
      const val = { rows: refOf(project, `table/${tableDigest}`) };
      const obj = { project_id: MINE, object_id: 'pointer', val };
      const { digest } = (await post('/obj/create', { obj })).body;
      const ref = refOf(MINE, `object/pointer:${digest}/attr/rows/id/${rowDigest}`);
      return (await post('/refs/read_batch', { refs: [ref] })).body.vals;
    };
    expect(await rowBy(mine)).toEqual([{ marker: mine.marker }]);
    expect(await rowBy(theirs)).toEqual([null]);
  });

  it('of feedback show it on no call of another project', async () => {
    const remark = aFeedback(MINE, {
      svc_ref: refOf(THEIRS, 'call/call'),
      call_ref: refOf(THEIRS, 'call/call'),
      payload: { says: 'from outside' },
    });
    expect((await post('/feedback/create', remark)).status).toBe(200);
    const { text } = await app.post('/calls/query', { project_id: THEIRS, include_feedback: true });
    expect(text).toContain(theirs.marker);
    expect(text).not.toContain('from outside');
    const own = await post('/calls/query', { project_id: MINE, include_feedback: true });
    expect(own.text).not.toContain('from outside');
  });

  it('of annotations are judged by no schema of another project', async () => {
    const annotate = (project: string) =>
      aFeedback(MINE, {
        feedback_type: `svc.annotation.${SCHEMA_OBJECT}`,
        annotation_ref: refOf(project, `object/${SCHEMA_OBJECT}:latest`),
        payload: { value: REFUSED_VALUE },
      });
    expect((await post('/feedback/create', annotate(MINE))).status).toBe(400);
    const refused = { status: 400, body: { errors: [{ path: 'annotation_ref' }] } };
    expect(await post('/feedback/create', annotate(THEIRS))).toMatchObject(refused);
    expect(await app.post('/feedback/create', annotate(THEIRS))).toMatchObject(refused);
  });

  it('of feedback find nothing of another project by its fields', async () => {
    const marked = { $getField: 'feedback.[custom].payload.marker' };
    const found = async ({ marker }: Planted) => {
      const query = { $expr: { $eq: [marked, { $literal: marker }] } };
      return (await post('/calls/query', { project_id: MINE, query })).body.calls.length;
    };
    expect(await found(mine)).toBe(2);
    expect(await found(theirs)).toBe(0);
  });
});

describe('conditions that name another project', () => {
  const isTheirs = { $expr: { $eq: [{ $getField: 'project_id' }, { $literal: THEIRS }] } };
  const always = { $expr: { $literal: true } };

  it('find and delete nothing of it', async () => {
    for (const query of [isTheirs, always]) {
      const about = { project_id: MINE, query };
      for (const path of ['/calls/query', '/calls/stream_query', '/feedback/query'])
        expect((await post(path, about)).status).toBe(200);
      expect((await post('/feedback/purge', about)).status).toBe(200);
    }
    expect((await post('/cost/query', { project_id: MINE, query: always })).status).toBe(200);
    expect((await post('/cost/purge', { project_id: MINE, query: always })).status).toBe(200);
    const replaced = aFeedback(MINE, { feedback_id: 'feedback of call' });
    expect((await post('/feedback/replace', replaced)).status).toBe(200);
  });
});

describe('prices of another project', () => {
  it('price no call', async () => {
    const call = { project_id: MINE, id: 'priced', ended_at: at(1) };
    const summary = { usage: { [THEIR_LLM]: { prompt_tokens: 1, completion_tokens: 1 } } };
    await post(`/v2/${MINE}/calls/complete`, { batch: [{ ...aCall(MINE), ...call, summary }] });
    const { body } = await post('/cost/explain', { project_id: MINE, call_ids: ['priced'] });
    expect(body.calls[0].models[0].pricing_level).toBe('unpriced');
    const { text } = await post('/call/read', { ...call, include_costs: true });
    expect(text).toContain('"pricing_level":"unpriced"');
  });
});

describe('POST /graphql', () => {
  const ask = async (query: string) => (await post('/graphql', { query })).body;
  const named = (project: string) => {
    const [entity, name] = project.split('/');
    return `entityName: "${entity}", name: "${name}"`;
  };

  it('knows the projects of the key only', async () => {
    const found = async (project: string) =>
      (await ask(`{ project(${named(project)}) { name } }`)).data.project;
    expect(await found(MINE)).toEqual({ name: 'demo' });
    for (const project of [THEIRS, 'acme2/demo', 'ACME/demo', 'acme/nowhere'])
      expect(await found(project)).toBeNull();
  });

  it('makes none elsewhere', async () => {
    const made = (project: string) =>
      ask(`mutation { upsertModel(input: { ${named(project)} }) { model { name } } }`);
    expect((await made(MINE)).errors).toBeUndefined();
    expect((await made(THEIRS)).errors[0].message).toContain('no access');
  });
});

describe('OTLP', () => {
  const inProject = (project: string) => ({ project_id: project });
  const byWandb = { 'wandb.entity': 'acme', 'wandb.project': 'demo2' };
  const send = (resources: object[], project_id?: string) =>
    post(
      '/otel/v1/traces',
      { resourceSpans: resources },
      { headers: project_id ? { project_id } : {} },
    );

  it.each<[string, object[], string | undefined]>([
    ['a header', [spansOf({})], THEIRS],
    ['a header, and an own project in the resource', [spansOf(inProject(MINE))], THEIRS],
    ['a header, without spans', [], THEIRS],
    ['a resource', [spansOf(inProject(THEIRS))], undefined],
    ['a resource by its other name', [spansOf(byWandb)], undefined],
  ])('is refused for another project in %s', async (_, resources, header) => {
    const before = await contents(app, MINE);
    expect((await send(resources, header)).status).toBe(403);
    expect(await contents(app, MINE)).toEqual(before);
  });

  it('goes to the project of the header, whatever the resource says', async () => {
    expect((await send([spansOf(inProject(THEIRS)), spansOf(byWandb)], MINE)).text).toBe('{}');
  });

  it('refuses the resources of another project, and stores the rest', async () => {
    const { status, body } = await send([spansOf(inProject(THEIRS)), spansOf(inProject(MINE))]);
    expect([status, body.partialSuccess.rejectedSpans]).toEqual([200, '1']);
  });
});

describe('what another project holds', () => {
  type Probe = [what: string, idOf: (one: Planted) => string, ask: (id: string) => Promise<Answer>];
  const inMine =
    (path: string, body: (id: string) => object): Probe[2] =>
    (id) =>
      post(path, { project_id: MINE, ...body(id) });
  const call = ({ ownCallId }: Planted) => ownCallId;
  const table = ({ tableDigest }: Planted) => tableDigest;
  const row = ({ rowDigest }: Planted) => rowDigest;
  const file = ({ fileDigest }: Planted) => fileDigest;
  const version = ({ objectDigest }: Planted) => objectDigest;
  const thread = ({ marker }: Planted) => marker;
  const trace = ({ traceId }: Planted) => traceId;
  const build = (one: Planted) => one.build;

  const probes: Probe[] = [
    ['a call, read', call, inMine('/call/read', (id) => ({ id }))],
    ['a call, its usage', call, inMine('/trace/usage', (id) => ({ filter: { call_ids: [id] } }))],
    ['a tag', thread, inMine('/objs/query', (tag) => ({ filter: { tags: [tag] } }))],
    ['an alias', thread, inMine('/objs/query', (alias) => ({ filter: { aliases: [alias] } }))],
    ['a call, found', call, inMine('/calls/query', (id) => ({ filter: { call_ids: [id] } }))],
    [
      'a call, counted',
      call,
      inMine('/calls/query_stats', (id) => ({ filter: { call_ids: [id] } })),
    ],
    [
      'a call, ended',
      call,
      (id) => post(`/v2/${MINE}/call/end`, { end: anEnd({ project_id: MINE, id }) }),
    ],
    ['a call, deleted', call, inMine('/calls/delete', (id) => ({ call_ids: [id] }))],
    ['a call, explained', call, inMine('/cost/explain', (id) => ({ call_ids: [id] }))],
    ['a trace', trace, inMine('/calls/query', (id) => ({ filter: { trace_ids: [id] } }))],
    [
      'a thread',
      thread,
      inMine('/threads/stream_query', (id) => ({ filter: { thread_ids: [id] } })),
    ],
    [
      'the calls of a thread',
      thread,
      inMine('/calls/query', (id) => ({ filter: { thread_ids: [id] } })),
    ],
    ['a table', table, inMine('/table/query', (digest) => ({ digest }))],
    ['the size of a table', table, inMine('/table/query_stats', (digest) => ({ digest }))],
    ['the sizes of tables', table, inMine('/table/query_stats_batch', (id) => ({ digests: [id] }))],
    [
      'a table, updated',
      table,
      inMine('/table/update', (base_digest) => ({ base_digest, updates: [] })),
    ],
    ['a row', row, inMine('/table/create_from_digests', (id) => ({ row_digests: [id] }))],
    ['a file', file, inMine('/file/content', (digest) => ({ digest }))],
    ['a file, by its other name', file, inMine('/files/content', (digest) => ({ digest }))],
    ['a version', version, inMine('/obj/read', (digest) => ({ object_id: OBJECT, digest }))],
    [
      'a version, deleted',
      version,
      inMine('/obj/delete', (id) => ({ object_id: OBJECT, digests: [id] })),
    ],
    [
      'a version, by ref',
      version,
      (id) => post('/refs/read_batch', { refs: [refOf(MINE, `object/${OBJECT}:${id}`)] }),
    ],
    ['a build', build, inMine('/build/export', (build_id) => ({ build_id, format: 'art' }))],
    [
      'a build, as a file',
      build,
      inMine('/export', (id) => ({ of: 'build', format: 'jsonl', build_id: id })),
    ],
    [
      'a table, as a file',
      table,
      inMine('/export', (id) => ({ of: 'table', format: 'jsonl', digest: id })),
    ],
    [
      'a build, submitted',
      build,
      inMine('/build/submit', (build_id) => ({ build_id, model_id: mine.model })),
    ],
    [
      'a model, submitted to',
      ({ model }) => model,
      inMine('/build/submit', (model_id) => ({ build_id: mine.build, model_id })),
    ],
    ['a build, found', build, inMine('/builds/query', (id) => ({ filter: { build_ids: [id] } }))],
    ['what came of a call', call, inMine('/lineage/query', (id) => ({ call_ids: [id] }))],
    ['what went into a build', build, inMine('/lineage/query', (build_id) => ({ build_id }))],
    ['what made a job', ({ job }) => job, inMine('/lineage/query', (job_id) => ({ job_id }))],
    [
      'what made a checkpoint',
      ({ model }) => model,
      inMine('/lineage/query', (model_id) => ({ model_id, step: 0 })),
    ],
    [
      'a recipe',
      ({ recipeRef }) => recipeRef.split(':').at(-1)!,
      (digest) => {
        const name = theirs.recipeRef.split('/').at(-1)!.split(':')[0];
        const recipe_ref = refOf(MINE, `object/${name}:${digest}`);
        return post('/build/preview', { project_id: MINE, recipe_ref });
      },
    ],
    ['a model', ({ model }) => model, (id) => preview('GET', `/training-jobs?model_id=${id}`)],
    [
      'the place of a model',
      ({ model }) => model,
      (id) => preview('GET', `/models?limit=1&name=none&after=${id}`),
    ],
    [
      'the trajectories of a job',
      ({ job }) => job,
      (job_id) => preview('POST', '/trajectories/query', { model_id: mine.model, job_id }),
    ],
    [
      'a checkpoint',
      ({ checkpoint }) => checkpoint,
      (id) => preview('GET', `/models/${mine.model}/checkpoints?after=${id}`),
    ],
    [
      'an event',
      ({ event }) => event,
      (id) => preview('GET', `/training-jobs/${mine.job}/events?after=${id}`),
    ],
  ];

  it.each(probes)('is answered as what is nowhere: %s', async (_, idOf, ask) => {
    const told = async (id: string) => {
      const { status, text } = await ask(id);
      return [status, text.replaceAll(id, '').replace(/"request_id":"[^"]*"/, '')];
    };
    const id = idOf(theirs);
    const nowhere = id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
    expect(await told(id)).toEqual(await told(nowhere));
  });
});

describe('GET and POST /v1/preview/models', () => {
  it('name no project of others', async () => {
    const named = '/models?entity=acme&project=demo2';
    expect((await preview('GET', named)).body).toMatchObject(FORBIDDEN);
    for (const query of ['project=demo2', `name=${THEIRS}`])
      expect((await preview('GET', `/models?${query}`)).body.data).toEqual([]);
    const model = { project: 'demo2', name: 'new', base_model: 'b' };
    for (const body of [model, { ...model, entity: 'acme' }])
      expect((await preview('POST', '/models', body)).body).toMatchObject(FORBIDDEN);
  });
});

describe('trainers', () => {
  const STEPS: [method: string, step: string, body: object | undefined][] = [
    ['GET', 'payload', undefined],
    ['POST', 'heartbeat', {}],
    ['POST', 'events', { events: [{ seq: 9, type: 'gradient_step', data: { loss: 1 } }] }],
    ['POST', 'complete', { metrics: {}, checkpoint: { uri: 'file:///c' } }],
    ['POST', 'fail', { error_message: 'no', retryable: false }],
  ];

  it.each(STEPS)('%s …/%s takes the lease of the job itself only', async (method, step, body) => {
    const other = await aLeasedJob(app, await aModelOf(app, MINE, 'm'));
    const before = await contents(app, MINE);
    const statusBy = async (job: string, lease: string) => {
      const options = { by: 'trainer', headers: { 'x-lease-token': lease } } as const;
      return (await preview(method, `/trainer/jobs/${job}/${step}`, body, options)).status;
    };
    expect(await statusBy(mine.job, other.lease)).toBe(409);
    expect(await statusBy(mine.job, theirs.lease)).toBe(409);
    expect(await statusBy(theirs.job, mine.lease)).toBe(404);
    expect(await statusBy(theirs.job, theirs.lease)).toBe(404);
    expect(await contents(app, MINE)).toEqual(before);
  });

  it('get no job of another project, by no base model', async () => {
    const base_models = ['base 1', 'base 2'];
    const claim = { worker_id: 'w', base_models };
    expect((await preview('POST', '/trainer/claims', claim, { by: 'trainer' })).status).toBe(204);
  });
});

describe('an Idempotency-Key', () => {
  let numbers = 0;
  const aHeader = () => ({ headers: { 'idempotency-key': `key ${++numbers}` } });

  type Write = [what: string, elsewhere: number, send: (options: Options) => Promise<Answer>];
  const writes: Write[] = [
    ['/call/start', 403, (options) => post('/call/start', { start: aCall(MINE) }, options)],
    [
      '/call/upsert_batch',
      200,
      (options) =>
        post(
          '/call/upsert_batch',
          { batch: [{ mode: 'start', req: { start: aCall(MINE) } }] },
          options,
        ),
    ],
    ['/feedback/create', 403, (options) => post('/feedback/create', aFeedback(MINE), options)],
    [
      '/feedback/batch/create',
      200,
      (options) => post('/feedback/batch/create', { batch: [aFeedback(MINE)] }, options),
    ],
    [
      '/cost/create',
      403,
      (options) => post('/cost/create', { project_id: MINE, costs: { m: aPrice } }, options),
    ],
    [
      '/training-jobs',
      404,
      (options) =>
        preview(
          'POST',
          '/training-jobs',
          { model_id: mine.model, trajectory_groups: groupsWith('again') },
          options,
        ),
    ],
  ];

  it.each(writes)('of %s replays nothing to another key', async (_, elsewhere, send) => {
    const { headers } = aHeader();
    const idsIn = ({ text }: Answer) => text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g);
    const first = await send({ headers });
    expect(first.status).toBe(200);
    expect(idsIn(await send({ headers }))).toEqual(idsIn(first));

    const another = await send({ headers, by: 'another' });
    expect(another.status).toBe(200);
    expect(idsIn(first)).not.toContain(idsIn(another)![0]);

    const stranger = await send({ headers, by: 'stranger' });
    expect(stranger.status).toBe(elsewhere);
    for (const id of idsIn(first)!) expect(stranger.text).not.toContain(id);
  });

  it('means nothing in another project', async () => {
    const { headers } = aHeader();
    const create = (project_id: string) =>
      app.post('/cost/create', { project_id, costs: { m: aPrice } }, { headers });
    const [one, other] = [await create(MINE), await create('acme/third')];
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(other.body.ids).not.toEqual(one.body.ids);
  });
});

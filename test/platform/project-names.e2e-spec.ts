import { request } from 'node:http';
import { once } from 'node:events';
import { basic, useApp } from '../support/app.js';
import { anEnd, aStart } from '../support/factories.js';
import { type Sent, sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant, type Planted } from '../support/planted.js';

/* `.` and `..` are steps of a URL path, so no URL of the API or the console could name such an entity or project. */
const BAD = ['acme/..', 'acme/.', '../demo', './demo'];

const app = useApp();
const OWN = 'acme/demo';
let planted: Planted;
beforeAll(async () => {
  planted = await plant(app, OWN);
});

/** The request with another project instead of the planted one. */
function renamed({ params, query, body, headers }: Sent, project: string): Sent {
  const other = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value ?? null).replaceAll(OWN, project)) as T;
  if (!(body instanceof FormData))
    return {
      params: params!,
      query: other(query) ?? '',
      body: other(body) ?? undefined,
      headers: other(headers) ?? {},
    };
  const form = new FormData();
  for (const [name, value] of body) form.append(name, value === OWN ? project : value);
  return { body: form };
}

const ROUTES = Object.entries(OPERATIONS).filter(([route]) => !route.includes('/v2/'));
/** Routes that return 200 and report failures in the body. */
const BATCHES = [
  'POST /call/upsert_batch',
  'POST /feedback/batch/create',
  'POST /graphql',
  'POST /mcp',
];

/**
 * The first route erases what earlier versions stored under such a name. The second leaves out names of unknown
 * projects.
 */
const EXEMPT = ['POST /project/delete', 'POST /service/projects_info'];

it.each(ROUTES)('%s takes no project that a URL cannot name', async (route, operation) => {
  const sent = await operation.build(planted, app);
  const text = JSON.stringify(sent);
  const isNamed =
    sent.body instanceof FormData ? sent.body.get('project_id') === OWN : text.includes(OWN);
  if (!isNamed || EXEMPT.includes(route)) return;
  for (const project of BAD) {
    const authorization = operation.schemes[0] === 'basic' ? basic(app.key) : `Bearer ${app.key}`;
    const answer = await sendTo(app.url, route, renamed(sent, project), { authorization });
    const body = await answer.text();
    expect([project, BATCHES.includes(route) ? 400 : answer.status, body]).toEqual([
      project,
      400,
      expect.stringMatching(/invalid_request|must be 1 to 128 letters/),
    ]);
    expect(body).toMatch(/project|_ref|refs\[|scopes/);
  }
});

it.each(BAD)('refuses %s in the paths, naming the part', async (project) => {
  const bodies = {
    'calls/complete': { batch: [] },
    'call/start': { start: aStart({ project_id: project }) },
    'call/end': { end: anEnd({ project_id: project, id: 'x' }) },
  };
  for (const [operation, body] of Object.entries(bodies)) {
    const sent = request(app.url, {
      method: 'POST',
      path: `/v2/${project}/${operation}`,
      headers: { authorization: basic(app.key), 'content-type': 'application/json' },
    });
    sent.end(JSON.stringify(body));
    const [answer] = await once(sent, 'response');
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    expect([answer.statusCode, JSON.parse(text).code]).toEqual([400, 'invalid_request']);
    expect(JSON.parse(text).errors[0].path).toMatch(
      /^(entity|project|start.project_id|end.project_id)$/,
    );
  }
});

it.each(BAD)(
  'refuses %s in scopes of keys, attributes of resources, and public keys',
  async (project) => {
    const scoped = await app.post('/keys/create', { user: 'u', role: 'writer', scopes: [project] });
    expect(scoped).toMatchObject({ status: 400, body: { errors: [{ path: 'scopes[0]' }] } });
    const [entity, name] = project.split('/');
    for (const attributes of [
      { project_id: project },
      { 'wandb.entity': entity, 'wandb.project': name },
    ]) {
      const listed = Object.entries(attributes).map(([key, value]) => ({
        key,
        value: { stringValue: value },
      }));
      const span = {
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: 'b7ad6b7169203331',
        name: 'n',
        startTimeUnixNano: '1767225600000000000',
      };
      const { status, body } = await app.post('/otel/v1/traces', {
        resourceSpans: [{ resource: { attributes: listed }, scopeSpans: [{ spans: [span] }] }],
      });
      expect([status, body.partialSuccess?.errorMessage ?? body.detail]).toEqual([
        expect.any(Number),
        expect.stringContaining('project_id must name the project'),
      ]);
    }
    const model = { name: 'm', base_model: 'b', entity, project: name };
    const part = entity === 'acme' ? 'project' : 'entity';
    expect(await app.bearer('/v1/preview/models', model)).toMatchObject({
      status: 400,
      body: { errors: [{ path: part }] },
    });
    const scopeOfOne = await app.aKey('writer', [OWN]);
    const answer = await app.post(
      '/api/public/ingestion',
      { batch: [] },
      { headers: { authorization: basic(scopeOfOne, project) } },
    );
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'project_id' }] } });
  },
);

it('lists and erases a project of such a name that an earlier version stored', async () => {
  const project_id = 'acme/..';
  await app.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at) VALUES ($1, 'old', 'op', 't', now())`,
    [project_id],
  );
  const listed = async () =>
    (await app.post('/projects/query', { limit: 1000 })).body.projects.map(
      (row: { project_id: string }) => row.project_id,
    );
  expect(await listed()).toContain(project_id);
  const answer = await app.post('/project/delete', { project_id });
  expect(answer).toMatchObject({ status: 200, body: { num_erased: { calls: 1 } } });
  expect(await app.query('SELECT FROM calls WHERE project_id = $1', [project_id])).toEqual([]);
});

import { randomBytes } from 'node:crypto';
import { basic, linesOf, send } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { freePort, type Server, startServer } from '../support/server.js';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { until } from '../support/until.js';

const PROJECT = 'acme/skein';
const databases: TestDatabase[] = [];
const servers: Server[] = [];
afterAll(async () => {
  for (const server of servers) await server.stop();
  for (const database of databases) await database.drop();
});

async function started(env: Record<string, string> = {}): Promise<Server> {
  const database = await openTestDatabase();
  databases.push(database);
  const server = await startServer({ DATABASE_URL: database.url, ...env });
  servers.push(server);
  return server;
}

/** Settings of a service that exports its traces to another service. */
const tracingTo = (url: string, key: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/otel`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(basic(key))},project_id=${encodeURIComponent(PROJECT)}`,
  OTEL_BSP_SCHEDULE_DELAY: '100',
  OTEL_SERVICE_NAME: 'skein-a',
});

const spansIn = async (server: Server) =>
  linesOf(await server.post('/calls/stream_query', { project_id: PROJECT }));

/** Waits for the span of a trace with this name. */
async function spanOf(server: Server, traceId: string, name: RegExp): Promise<any> {
  let found: any;
  await until(async () => {
    const spans = await spansIn(server);
    found = spans.find((span) => span.trace_id === traceId && name.test(span.op_name));
    return found !== undefined;
  });
  return found;
}

/** Sends a request with a trace id and a span id of the client. */
async function sendTraced(server: Server, path: string, body: unknown) {
  const [traceId, parentId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const headers = {
    authorization: basic(server.key),
    traceparent: `00-${traceId}-${parentId}-01`,
    'x-request-id': `of-${traceId}`,
  };
  const { status } = await send(server.url + path, body, headers);
  return { traceId, parentId, status };
}

it.each(['1', '2'])(
  'a service with WORKERS=%s sends its requests and their statements to another one, within the trace of the client',
  async (WORKERS) => {
    const receiver = await started();
    const server = await started({ ...tracingTo(receiver.url, receiver.key), WORKERS });
    const stored = await sendTraced(server, '/call/start', {
      start: aStart({ project_id: 'acme/traced', inputs: { secret: 'a-secret-value' } }),
    });
    expect(stored.status).toBe(200);
    const request = await spanOf(receiver, stored.traceId, /^POST \/call\/start$/);
    expect(request).toMatchObject({
      parent_id: stored.parentId,
      attributes: {
        'http.route': '/call/start',
        'http.response.status_code': 200,
        'skein.project': 'acme/traced',
        resource: expect.objectContaining({ 'service.name': 'skein-a' }),
        'skein.request_id': `of-${stored.traceId}`,
      },
    });
    expect(await spanOf(receiver, stored.traceId, /^calls\.copy$/)).toMatchObject({
      parent_id: request.id,
      attributes: { 'db.system.name': 'postgresql' },
    });
    const read = await sendTraced(server, '/calls/stream_query', { project_id: 'acme/traced' });
    await spanOf(receiver, read.traceId, /^calls\.query:toCallRows$/);
    const refused = await sendTraced(server, '/call/read', { project_id: 'acme/traced' });
    expect(refused.status).toBe(400);
    const span = await spanOf(receiver, refused.traceId, /^POST /);
    expect(span.attributes['http.response.status_code']).toBe(400);
    const all = JSON.stringify(await spansIn(receiver));
    expect(all).not.toContain('a-secret-value');
    expect(all).not.toContain(server.key);
  },
);

it('a service that sends them to itself makes no spans of that', async () => {
  const PORT = String(await freePort());
  const key = newSecret();
  const own = tracingTo(`http://127.0.0.1:${PORT}`, key);
  const server = await started({ ...own, PORT, BOOTSTRAP_API_KEY: key });
  const first = await sendTraced(server, '/call/read', { project_id: 'acme/own', id: 'none' });
  await spanOf(server, first.traceId, /^POST /);
  // spans of the first export would arrive before the span of the second request
  const second = await sendTraced(server, '/call/read', { project_id: 'acme/own', id: 'none' });
  await spanOf(server, second.traceId, /^POST /);
  const names = (await spansIn(server)).map((span) => span.op_name);
  expect(names.filter((name) => name.includes('traces'))).toEqual([]);
  expect(names).toContain('POST /call/read');
});

it('a receiver that is away costs no request, and the log says so', async () => {
  const port = await freePort();
  const server = await started(tracingTo(`http://127.0.0.1:${port}`, newSecret()));
  const { status } = await server.post('/call/start', { start: aStart() });
  expect(status).toBe(200);
  await until(() => server.output().includes('"msg":"spans:'));
  expect(await server.stop()).toBe(0);
  servers.pop();
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { basic, send } from '../support/app.js';
import { openTestDatabase, refuseConnections } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

let server: Server;
let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startServer({
    DATABASE_URL: database.url,
    LOG_REQUESTS: 'true',
    LOG_FORMAT: 'json',
    TRUST_PROXY: '1',
  });
});
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const lines = (): any[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));

async function lineOf(requestId: string): Promise<any> {
  const find = () => lines().find((line) => line.request_id === requestId && line.route);
  await until(() => find() !== undefined);
  return find();
}

it('tells of a request whose key, project and client it was, how many bytes it had, and never the key', async () => {
  const body = JSON.stringify({ start: aStart({ project_id: 'acme/logged' }) });
  const requestWith = (id: string, authorization: string, more = '') =>
    `POST /call/start HTTP/1.1\r\nhost: skein\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n` +
    `x-forwarded-for: 203.0.113.7\r\nx-request-id: ${id}\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
  const sent = [
    requestWith('first', basic(server.key)),
    requestWith('second', basic('skn_nobody'), 'connection: close\r\n'),
  ];
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  let received = 0;
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  socket.write(sent[0]!);
  const first = await lineOf('first');
  socket.write(sent[1]!);
  await once(socket, 'close');
  const second = await lineOf('second');
  const me = await send(`${server.url}/me`, undefined, { authorization: basic(server.key) }, 'GET');
  expect(first).toMatchObject({
    key_id: me.body.id,
    project: 'acme/logged',
    address: '203.0.113.7',
    method: 'POST',
    route: '/call/start',
    status: 200,
    request_bytes: sent[0]!.length,
  });
  expect(second).toMatchObject({ address: '203.0.113.7', status: 401 });
  expect(second).not.toHaveProperty('key_id');
  expect(first.answer_bytes + second.answer_bytes).toBe(received);
  expect(server.output()).not.toContain(server.key);
});

it('names the project of a request that no field of a body names', async () => {
  const headers = {
    authorization: basic(server.key),
    project_id: 'acme/spans',
    'x-request-id': 'spans',
  };
  await send(`${server.url}/otel/v1/traces`, { resourceSpans: [] }, headers);
  expect(await lineOf('spans')).toMatchObject({ project: 'acme/spans', status: 200 });
  const form = new FormData();
  form.append('project_id', 'acme/files');
  form.append('file', new Blob(['x']), 'x');
  await fetch(`${server.url}/files/create`, {
    method: 'POST',
    headers: { authorization: basic(server.key), 'x-request-id': 'file' },
    body: form,
  });
  expect(await lineOf('file')).toMatchObject({ project: 'acme/files', status: 200 });
});

it('has one line without a stack for many requests that the database could not answer', async () => {
  await refuseConnections(database.url);
  const requests = Array.from({ length: 40 }, () =>
    server.post('/call/start', { start: aStart() }),
  );
  for (const { status } of await Promise.all(requests)) expect(status).toBe(503);
  const told = () => lines().filter(({ msg }) => msg?.startsWith('a request was answered 503'));
  await until(() => {
    const firsts = told().filter(({ again }) => again === undefined);
    return told().reduce((sum, { again }) => sum + (again ?? 0), firsts.length) === requests.length;
  });
  expect(told().length).toBeLessThan(requests.length / 2);
  expect(told()[0]).toMatchObject({ path: '/call/start', why: expect.any(String) });
  expect(told()[0].request_id).toBeTruthy();
  expect(lines().filter((line) => line.context === 'errors')).toEqual([]);
  for (const line of told()) expect(JSON.stringify(line)).not.toContain('    at ');
});

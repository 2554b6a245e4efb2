import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { type ChangeKind, KINDS } from '../../src/platform/database/changes.js';
import { basic, send, openApp, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { sendTo } from '../support/operation-rows.js';
import { OPERATIONS } from '../support/operations.js';
import { plant, type Planted } from '../support/planted.js';
import { startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { Database } from '../../src/platform/database/database.js';
import { CALLS } from '../../src/tracing/calls/call.entity.js';
import { JOBS } from '../../src/training/jobs/training-job.entity.js';
import { MODELS } from '../../src/training/models/model.entity.js';

let app: TestApp;
const opened: ClientRequest[] = [];
beforeAll(async () => {
  app = await startApp();
});
afterEach(() => {
  for (const sent of opened.splice(0)) sent.destroy();
});
afterAll(() => app.close());

/**
 * Watches a project. `next` returns the kinds of the next tick, or null after the end of the stream.
 *
 * It does not use `fetch`: that opens a new connection after an end, and waits for the server to close the old one.
 */
async function watch(project: string, { url = app.url, key = app.key } = {}) {
  const headers = { authorization: basic(key) };
  const sent = get(`${url}/events?project_id=${project}`, { headers, agent: false });
  opened.push(sent);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => {});
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
  let text = '';
  return {
    status: response.statusCode,
    headers: response.headers,
    leave: () => void sent.destroy(),
    async next(): Promise<ChangeKind[] | null> {
      for (;;) {
        const tick = /event: tick\ndata: (.*)\n\n/.exec(text);
        if (tick) {
          text = text.slice(tick.index + tick[0].length);
          return JSON.parse(tick[1]!).kinds;
        }
        const { done, value } = await chunks.next();
        if (done) return null;
        text += value;
      }
    },
  };
}

const write = (project_id: string) => app.post('/call/start', { start: aStart({ project_id }) });

const openStreams = async () =>
  Number(/skein_event_streams (\d+)/.exec(await (await fetch(`${app.url}/metrics`)).text())![1]);

const BUSY = `SELECT 1 FROM pg_stat_activity
  WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`;

describe('a stream of events', () => {
  it('begins with a tick of all kinds, then tells what was written to its project', async () => {
    const watching = await watch('acme/one');
    expect(watching.status).toBe(200);
    expect(watching.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(await watching.next()).toEqual(KINDS);
    await write('acme/other');
    await app.post('/cost/purge', { project_id: 'acme/one', query: { $expr: { $eq: [1, 1] } } }); // refused with 400
    await write('acme/one');
    expect(await watching.next()).toEqual(['calls']);
    await app.post('/feedback/create', {
      project_id: 'acme/one',
      svc_ref: 'svc:///acme/one/call/c',
      feedback_type: 'custom',
      payload: {},
    });
    expect(await watching.next()).toEqual(['feedback']);
  });

  it('tells of a transaction when it has committed, and of none that was rolled back', async () => {
    const database = app.app.get(Database);
    const told: string[] = [];
    jest
      .spyOn(database.changes, 'noteCommitted')
      .mockImplementation((project, kind) => void told.push(`${project} ${kind}`));
    await database.transaction(async () => {
      database.changes.note('acme/tx', JOBS);
      await database.transaction(async () => database.changes.note('acme/tx', CALLS));
      expect(told).toEqual([]);
    });
    expect(told).toEqual(['acme/tx jobs', 'acme/tx calls']);
    const failing = database.transaction({ long: 'read' }, async () => {
      database.changes.note('acme/tx', MODELS);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(told).toHaveLength(2);
    jest.restoreAllMocks();
  });

  it('names all kinds again when the connection to the database was interrupted', async () => {
    const watching = await watch('acme/lost');
    expect(await watching.next()).toEqual(KINDS);
    await app.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    );
    expect(await watching.next()).toEqual(KINDS);
    await write('acme/lost');
    expect(await watching.next()).toEqual(['calls']);
  });

  it('listens on one connection with the claims that wait, and holds none of the pool', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => watch('acme/pool')));
    for (const stream of streams) expect(await stream.next()).toEqual(KINDS);
    const claim = app.bearer('/v1/preview/trainer/claims', { worker_id: 'w', wait_s: 0.3 });
    const listening = () =>
      app.query(
        `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
      );
    await until(async () => (await listening())[0].query === 'LISTEN skein_training_jobs');
    expect(await listening()).toHaveLength(1);
    expect((await claim).status).toBe(204);
    await until(async () => (await app.query(BUSY)).length === 0);
  });
  it('ends when its key is revoked', async () => {
    const { body } = await app.post('/keys/create', {
      user: 'a',
      role: 'reader',
      scopes: ['acme/*'],
    });
    const watching = await watch('acme/one', { key: body.secret });
    expect(await watching.next()).toEqual(KINDS);
    await app.post('/keys/revoke', { id: body.id });
    expect(await watching.next()).toBeNull();
  });

  it('is one of few for each key, and gone when its client is', async () => {
    const key = await app.aKey('reader', ['acme/one']);
    await until(async () => (await openStreams()) === 0);
    const streams = await Promise.all(
      Array.from({ length: 100 }, () => watch('acme/one', { key })),
    );
    expect(streams.map(({ status }) => status)).toEqual(Array(100).fill(200));
    const one = await watch('acme/one', { key });
    expect(one.status).toBe(503);
    expect(await (await watch('acme/one')).next()).toEqual(KINDS); // another key has a limit of its own
    streams[0]!.leave();
    await until(async () => (await openStreams()) === 100);
    expect((await watch('acme/one', { key })).status).toBe(200);
    for (const { leave } of streams) leave();
    await until(async () => (await openStreams()) === 2);
  });

  it('is one of as many of an entity as are left for others', async () => {
    await until(async () => (await openStreams()) === 0);
    const keys: string[] = [];
    while (keys.length < 6) keys.push(await app.aKey('reader', ['many/*']));
    const streams = await Promise.all(
      Array.from({ length: 510 }, (_, i) => watch(`many/${i % 7}`, { key: keys[i % 6]! })),
    );
    const refused = streams.filter(({ status }) => status === 503);
    expect(refused.length).toBe(10);
    expect((await watch('few/one')).status).toBe(200);
    for (const { leave } of streams) leave();
    await until(async () => (await openStreams()) === 1);
  });

  it('is only promised to a client that asks for the head', async () => {
    const response = await fetch(`${app.url}/events?project_id=acme/head`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${app.key}` },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
  });

  it.each([
    ['', 'project_id'],
    ['?project_id=acme', 'project_id'],
    ['?project_id=acme/a&project_id=acme/b', 'project_id'],
  ])('is refused for %j', async (query, path) => {
    const response = await fetch(`${app.url}/events${query}`, {
      headers: { authorization: `Bearer ${app.key}` },
    });
    expect(response.status).toBe(400);
    expect(((await response.json()) as any).errors[0].path).toBe(path);
  });
});

it('goes from process to process, and ends with the one it is of', async () => {
  const server = await startServer({ DATABASE_URL: app.databaseUrl, WORKERS: '2' });
  const key = app.key;
  const here = await watch('acme/far');
  const there = [
    await watch('acme/far', { url: server.url, key }),
    await watch('acme/far', { url: server.url, key }),
  ];
  for (const stream of [here, ...there]) expect(await stream.next()).toEqual(KINDS);
  await write('acme/far');
  for (const stream of [here, ...there]) expect(await stream.next()).toEqual(['calls']);
  const writeThere = async (path: string, body: object) =>
    expect((await send(server.url + path, body, { authorization: basic(key) })).status).toBe(200);
  await writeThere('/call/start', { start: aStart({ project_id: 'acme/far' }) });
  for (const stream of [here, ...there]) expect(await stream.next()).toEqual(['calls']);
  const exit = server.stop();
  for (const stream of there) expect(await stream.next()).toBeNull();
  expect(await exit).toBe(0);
});

describe('what is told', () => {
  let planted: Planted;
  const told = new Set<string>();
  beforeAll(async () => {
    planted = await plant(app, 'acme/planted');
    const changes = app.app.get(Database).changes;
    const note = changes.noteCommitted.bind(changes);
    jest.spyOn(changes, 'noteCommitted').mockImplementation((project, kind) => {
      if (project === planted.project) told.add(kind);
      note(project, kind);
    });
  });

  it.each(Object.entries(OPERATIONS))('by %s is what it changes', async (route, operation) => {
    const sent = await operation.build(planted, app);
    const [scheme] = operation.schemes;
    told.clear();
    const response = await sendTo(app.url, route, sent, {
      authorization: scheme === 'basic' ? basic(app.key) : `Bearer ${app.key}`,
    });
    expect(response.status).toBeLessThan(300);
    if (route === 'GET /events') await response.body!.cancel();
    else await response.arrayBuffer();
    expect([...told].toSorted()).toEqual((operation.changes ?? []).toSorted());
  });
});

it('is told what a process has noted when that ends', async () => {
  const watching = await watch('acme/end');
  expect(await watching.next()).toEqual(KINDS);
  const { app: other } = await openApp(app.databaseUrl);
  await other.init();
  for (const kind of [CALLS, JOBS]) other.get(Database).changes.note('acme/end', kind);
  await other.close();
  const told: ChangeKind[] = [];
  while (!told.includes(JOBS)) told.push(...(await watching.next())!);
  expect(told).toEqual(['calls', 'jobs']);
});

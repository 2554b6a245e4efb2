import type { ServerResponse } from 'node:http';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { openTestDatabase } from '../support/database.js';
import { eventsOf, startEngine, type TestEngine } from '../support/engine.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

const project_id = 'acme/demo';
/** The first service stores it as the bootstrap key of the database. */
const key = newSecret();

let engine: TestEngine;
let database: Awaited<ReturnType<typeof openTestDatabase>>;
let server: Server;

beforeAll(async () => {
  engine = await startEngine();
  database = await openTestDatabase();
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});
beforeEach(async () => {
  server = await startServer({
    DATABASE_URL: database.url,
    BOOTSTRAP_API_KEY: key,
    GATEWAY_PROVIDERS: JSON.stringify([
      { name: 'engine', base_url: engine.url, models: ['m'], engine: 'vllm' },
    ]),
  });
});
afterEach(() => server.stop());

const newest = async (): Promise<any> => {
  const sort_by = [{ field: 'started_at', direction: 'desc' }];
  return (await server.post('/calls/query', { project_id, sort_by, limit: 1 })).body.calls[0];
};

/** Starts a stream of which the engine has sent the first half. */
async function halfStream(as = key) {
  let half: { events: string[]; response: ServerResponse } | undefined;
  engine.next((asked, response) => {
    const events = eventsOf(asked);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events.slice(0, 3).join(''));
    half = { events: events.slice(3), response };
  });
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${as}`,
      'x-skein-project': project_id,
    },
    body: JSON.stringify({ model: 'm', messages: [], stream: true }),
  });
  const reader = answer.body!.getReader();
  let said = '';
  /** Reads until the text contains a word, or to the end. */
  const readTo = async (word?: string): Promise<string> => {
    for (;;) {
      if (word !== undefined && said.includes(word)) break;
      const { done, value } = await reader.read();
      if (done) break;
      said += Buffer.from(value).toString();
    }
    return said;
  };
  await readTo('lo');
  return { ...half!, id: answer.headers.get('x-skein-call-id')!, readTo };
}

it('ends the streams under way before it stops, and records them', async () => {
  const { events, response, id, readTo } = await halfStream();
  const stopped = server.stop();
  response.end(events.join(''));
  expect(await readTo()).toContain('[DONE]');
  expect(await stopped).toBe(0);
  server = await startServer({ DATABASE_URL: database.url, BOOTSTRAP_API_KEY: key });
  expect(await newest()).toMatchObject({
    id,
    exception: null,
    output: { choices: [{ message: { content: 'Hello world' }, token_ids: [1, 2, 3, 4] }] },
  });
});

it('has its calls ended by others when it is killed, and the client sees that the stream broke off', async () => {
  const other = await startServer({ DATABASE_URL: database.url, BOOTSTRAP_API_KEY: key });
  const { id, readTo, response } = await halfStream();
  const hungUp = new Promise((resolve) => response.once('close', resolve));
  await server.stop('SIGKILL');
  await expect(readTo()).rejects.toThrow();
  await hungUp;
  server = other;
  expect(await newest()).toMatchObject({ id, ended_at: null, inputs: { model: 'm' } });
  await until(async () => (await newest()).ended_at !== null);
  expect(await newest()).toMatchObject({
    id,
    exception: 'the process that relayed the request has ended',
    summary: { svc: { status: 'error' } },
  });
  expect(await newest()).not.toHaveProperty('output.choices');
});

it('keeps what a process stores that was taken for lost', async () => {
  const { events, response, id, readTo } = await halfStream();
  const { process: taken } = (await newest()).attributes.gateway;
  server.process.kill('SIGSTOP');
  const other = await startServer({ DATABASE_URL: database.url, BOOTSTRAP_API_KEY: key });
  const read = async () => (await other.post('/call/read', { project_id, id })).body.call;
  await until(async () => (await read()).exception !== null);
  server.process.kill('SIGCONT');
  response.end(events.join(''));
  expect(await readTo()).toContain('[DONE]');
  expect(await read()).toMatchObject({
    exception: null,
    attributes: { gateway: { process: taken } },
    output: { choices: [{ message: { content: 'Hello world' } }] },
  });
  await other.stop();
});

it('hangs up where the key is revoked meanwhile', async () => {
  const made = await server.post('/keys/create', { user: 'a', role: 'writer', scopes: ['*'] });
  const { readTo, response } = await halfStream(made.body.secret);
  await server.post('/keys/revoke', { id: made.body.id });
  await expect(readTo()).rejects.toThrow();
  await until(() => response.destroyed);
  expect((await newest()).exception).toMatch(/revoked/);
});

it('goes on with an engine that came back', async () => {
  const { readTo, response } = await halfStream();
  response.destroy();
  await expect(readTo()).rejects.toThrow();
  const { events, response: again, readTo: readAgain } = await halfStream();
  again.end(events.join(''));
  expect(await readAgain()).toContain('[DONE]');
});

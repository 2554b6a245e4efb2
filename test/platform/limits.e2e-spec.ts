import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, useApp } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/** Sends a POST on a new connection, so that the workers take turns. */
async function post(
  url: string,
  headers: Record<string, string>,
  body: string | Buffer[] = '{"project_id":"acme/demo","id":"x"}',
) {
  const agent = new Agent({ keepAlive: false });
  const sent = request(url, {
    method: 'POST',
    agent,
    headers: { 'content-type': 'application/json', ...headers },
  });
  sent.on('error', () => {}); // the request is refused before it is sent whole
  if (typeof body === 'string') sent.end(body);
  else {
    for (const part of body) sent.write(part);
    sent.end();
  }
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode!, headers: answer.headers, text };
}

const countOf = (answers: { status: number }[], wanted: number) =>
  answers.filter(({ status }) => status === wanted).length;

describe('with WORKERS=2 behind a proxy', () => {
  const LIMIT = 100;
  let database: TestDatabase;
  let server: Server;
  beforeAll(async () => {
    database = await openTestDatabase();
    server = await startServer({
      DATABASE_URL: database.url,
      WORKERS: '2',
      TRUST_PROXY: '1',
      LOG_LEVEL: 'debug',
      RATE_LIMIT_REQUESTS_PER_MINUTE: String(LIMIT),
    });
  });
  afterAll(async () => {
    await server.stop('SIGKILL');
    await database.drop();
  });

  const aKey = async () =>
    (await server.post('/keys/create', { user: 'a', role: 'admin', scopes: ['*'] })).body;
  const read = (secret: string, from = '10.0.0.1') =>
    post(`${server.url}/call/read`, { authorization: basic(secret), 'x-forwarded-for': from });
  const all = (count: number, work: () => ReturnType<typeof read>) =>
    Promise.all(Array.from({ length: count }, work));

  it('workers share the limit of a key, which holds back no other key', async () => {
    const [{ secret }, { secret: other }] = [await aKey(), await aKey()];
    const answers = await all(2 * LIMIT, () => read(secret));
    expect(countOf(answers, 200)).toBeGreaterThanOrEqual(LIMIT);
    expect(countOf(answers, 429)).toBeGreaterThan(0);
    expect(countOf(answers, 200) + countOf(answers, 429)).toBe(2 * LIMIT);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'rate_limited' });
    expect((await read(other)).status).toBe(200);
  });

  it('workers share the failed attempts of an address, told by the proxy, and forgive a good key', async () => {
    const { secret } = await aKey();
    const answers = await all(60, () => read(newSecret(), '10.0.0.2'));
    expect(countOf(answers, 401)).toBeGreaterThanOrEqual(20);
    expect(countOf(answers, 401)).toBeLessThan(40);
    expect((await read(newSecret(), '10.0.0.3')).status).toBe(401);
    expect((await read(newSecret(), '192.0.2.1, 10.0.0.2')).status).toBe(429);
    // both workers see the key for the first time, from an address above its limit
    expect(countOf(await all(4, () => read(secret, '10.0.0.2')), 200)).toBe(4);
  });

  it('counts IPv6 by the /64, and no request without credentials', async () => {
    let last = 0;
    await all(60, () => read(newSecret(), `2001:db8:0:1::${(++last).toString(16)}`));
    expect((await read(newSecret(), '2001:db8:0:1:ffff::1')).status).toBe(429);
    expect((await read(newSecret(), '2001:db8:0:2::1')).status).toBe(401);
    const probes = await all(60, () =>
      post(`${server.url}/call/read`, { 'x-forwarded-for': '10.0.0.4' }),
    );
    expect(countOf(probes, 401)).toBe(60);
    expect((await read(newSecret(), '10.0.0.4')).status).toBe(401);
  });

  it('a key revoked by one worker is refused by all', async () => {
    const { id, secret } = await aKey();
    let address = 0;
    const readFromAnywhere = () => read(secret, `10.1.0.${++address % 256}`);
    expect(countOf(await all(4, readFromAnywhere), 200)).toBe(4);
    expect((await server.post('/keys/revoke', { id })).status).toBe(200);
    await until(async () => countOf(await all(4, readFromAnywhere), 401) === 4);
  });

  it('writes no secret to its log', async () => {
    const { secret } = await aKey();
    await read(secret);
    await fetch(`${server.url}/v1/preview/models?access_token=${secret}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await fetch(`${server.url}/nowhere?api_key=${secret}`);
    await until(() => server.output().includes('/v1/preview/models'));
    expect(server.output()).not.toContain(secret.slice(8));
    expect(server.output()).not.toContain(server.key.slice(8));
    expect(server.output()).not.toContain(Buffer.from(`me:${secret}`).toString('base64').slice(8));
  });
});

describe('bytes a key may send in a minute', () => {
  const LIMIT = 1_000_000;
  const app = useApp({ RATE_LIMIT_BYTES_PER_MINUTE: String(LIMIT) });

  const start = (project_id: string, bytes: number) =>
    JSON.stringify({ start: aStart({ project_id, id: 'c', inputs: { x: 'x'.repeat(bytes) } }) });

  it('are counted before a body is read: what is refused left nothing and may be sent again', async () => {
    const authorization = basic(await app.aKey());
    const url = `${app.url}/call/start`;
    expect((await post(url, { authorization }, start('acme/a', 900_000))).status).toBe(200);
    const body = start('acme/b', 900_000);
    const sent = request(url, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'idempotency-key': 'again',
      },
    });
    sent.flushHeaders(); // sends no byte of the body
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => {}).destroy();
    expect(answer.statusCode).toBe(429);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(await app.query(`SELECT 1 FROM calls WHERE project_id = 'acme/b'`)).toEqual([]);
    expect(await app.query('SELECT 1 FROM idempotency_keys')).toEqual([]);
  });

  it('let a body that is larger than the limit pass, once', async () => {
    const authorization = basic(await app.aKey());
    const large = () =>
      post(`${app.url}/call/start`, { authorization }, start('acme/c', 2 * LIMIT));
    expect((await large()).status).toBe(200);
    expect((await large()).status).toBe(429);
  });

  it('count a body without a length as it comes', async () => {
    const authorization = basic(await app.aKey());
    const chunked = () => {
      const body = Buffer.from(start('acme/d', 2 * LIMIT));
      const parts = [body.subarray(0, LIMIT), body.subarray(LIMIT)];
      return post(
        `${app.url}/call/start`,
        { authorization, 'transfer-encoding': 'chunked' },
        parts,
      );
    };
    expect((await chunked()).status).toBe(200);
    expect((await chunked()).status).toBe(429);
    expect((await post(`${app.url}/call/read`, { authorization })).status).toBe(429);
    expect((await app.post('/call/read', { project_id: 'acme/d', id: 'c' })).status).toBe(200);
  });
});

describe('what the keys of an entity may do together', () => {
  const app = useApp({
    MAX_KEYS_PER_ENTITY: '3',
    RATE_LIMIT_REQUESTS_PER_MINUTE: '50',
    RATE_LIMIT_ENTITY_REQUESTS_PER_MINUTE: '80',
  });

  it('is limited in keys; those that have ended make room', async () => {
    const create = (entity: string) =>
      app.post('/keys/create', { user: 'a', role: 'reader', scopes: [`${entity}/*`] });
    const answers = await Promise.all(Array.from({ length: 6 }, () => create('full')));
    expect(countOf(answers, 200)).toBe(3);
    expect(answers.find(({ status }) => status === 413)!.body).toMatchObject({
      code: 'too_large',
      detail: 'scopes: full has 3 keys, and MAX_KEYS_PER_ENTITY is 3; revoke one first',
    });
    expect((await create('empty')).status).toBe(200);
    const { id } = answers.find(({ status }) => status === 200)!.body;
    expect((await app.post('/keys/revoke', { id })).status).toBe(200);
    expect((await create('full')).status).toBe(200);
    expect((await create('full')).status).toBe(413);
    expect(await app.query('SELECT FROM api_keys WHERE id = $1', [id])).toEqual([]);
  });

  it('is limited in requests, which other entities do not notice; signing in counts', async () => {
    const keys = [
      await app.aKey('reader', ['busy/*']),
      await app.aKey('reader', ['busy/a']),
      await app.aKey('reader', ['idle/*']),
    ] as const;
    const me = (key: string) =>
      fetch(`${app.url}/me`, { headers: { authorization: basic(key) } }).then(
        ({ status, statusText: text }) => ({ status, text }),
      );
    const many = (key: string) => Promise.all(Array.from({ length: 60 }, () => me(key)));
    expect(countOf(await many(keys[0]), 200)).toBeLessThan(60);
    expect(countOf(await many(keys[1]), 200)).toBeLessThan(40);
    expect((await me(keys[2])).status).toBe(200);
    const login = () =>
      fetch(`${app.url}/console/login`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys[1]}`, 'x-skein-console': '1' },
      });
    // one more request is accepted every 0.75 s
    const logins = await Promise.all(Array.from({ length: 20 }, login));
    const refused = logins.find(({ status }) => status === 429);
    expect(await refused?.json()).toMatchObject({
      detail: 'the entity is limited to 80 requests a minute',
    });
  });
});

/** @jest-environment-options {"isApart": true} */
// The process counts failed attempts by address, and other suites fail too.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, send, useApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { Database } from '../../src/platform/database/database.js';
import { until } from '../support/until.js';

describe('authentication', () => {
  const app = useApp();

  const body = { project_id: 'acme/demo', id: 'x' };
  const read = (headers: Record<string, string>) => send(`${app.url}/call/read`, body, headers);

  it('takes any user name and the key as the password', async () => {
    expect((await read({ authorization: basic(app.key, 'api') })).status).toBe(200);
    expect((await read({ authorization: basic(app.key, 'ünïcode') })).status).toBe(200);
    expect((await read({ authorization: basic(app.key, '') })).status).toBe(200);
  });

  it.each<[string, Record<string, string>]>([
    ['no header', {}],
    ['an unknown key', { authorization: basic(newSecret()) }],
    ['a key with a typo', { authorization: basic('skn_000000000000000000000000000000000000') }],
    ['no key', { authorization: basic('') }],
    ['nonsense', { authorization: 'Basic !!!' }],
    ['one word', { authorization: 'Basic' }],
    ['another scheme', { authorization: 'Digest x' }],
  ])('refuses %s with the challenge of the scheme', async (_, headers) => {
    const answer = await read(headers);
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect(answer.headers.get('www-authenticate')).toBe('Basic realm="skein", charset="UTF-8"');
  });

  it('a tracing operation takes no Bearer token, and no key in the address', async () => {
    expect(await read({ authorization: `Bearer ${app.key}` })).toMatchObject({
      status: 401,
      body: { detail: expect.stringMatching(/: Basic, with the key as the password$/) },
    });
    expect((await send(`${app.url}/call/read?access_token=${app.key}`, body, {})).status).toBe(401);
  });

  it('refuses who has no key before reading what is sent', async () => {
    expect((await send(`${app.url}/call/read`, 'no json', {})).status).toBe(401);
  });

  it.each<[string[], string, number]>([
    [['*'], 'acme/demo', 200],
    [['acme/*'], 'acme/demo', 200],
    [['acme/*'], 'acme2/demo', 403],
    [['acme/demo'], 'acme/demo', 200],
    [['acme/demo'], 'acme/demo2', 403],
    [['acme/demo', 'b/*'], 'b/c', 200],
  ])('a key for %j on %s: %i', async (scopes, project_id, status) => {
    const key = await app.aKey('writer', scopes);
    const answer = await app.post('/call/start', { start: aStart({ project_id }) }, { key });
    expect(answer.status).toBe(status);
    if (status === 403)
      expect(answer.body).toMatchObject({
        code: 'forbidden',
        detail: expect.stringContaining(project_id),
      });
  });

  it('a reader cannot write, a trainer cannot even read calls', async () => {
    const [reader, trainer] = [await app.aKey('reader'), await app.aKey('trainer')];
    expect((await app.post('/call/read', body, { key: reader })).status).toBe(200);
    expect(await app.post('/call/start', { start: aStart() }, { key: reader })).toMatchObject({
      status: 403,
      body: { code: 'forbidden', detail: expect.stringContaining('writer') },
    });
    expect((await app.post('/call/read', body, { key: trainer })).status).toBe(403);
  });

  it('judges the role before the body', async () => {
    const key = await app.aKey('reader');
    expect((await app.post('/call/start', 'no json', { key })).status).toBe(403);
  });

  it('refuses an expired key', async () => {
    const { body: created } = await app.post('/keys/create', {
      user: 'a',
      role: 'reader',
      scopes: ['*'],
      expires_at: '2020-01-01',
    });
    expect((await app.post('/call/read', body, { key: created.secret })).status).toBe(401);
  });

  it('a revoked key stops working, also where another process revoked it', async () => {
    const key = await app.aKey('reader');
    expect((await app.post('/call/read', body, { key })).status).toBe(200);
    await app.query('UPDATE api_keys SET revoked_at = now() WHERE hint = $1', [key.slice(0, 8)]);
    await until(async () => (await app.post('/call/read', body, { key })).status === 401);
  });

  describe('over one connection', () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    afterAll(() => agent.destroy());

    /** Returns the status of an answer, and whether the connection was used before. */
    const ask = async (
      authorization: string | undefined,
      path = '/call/read',
      method = 'POST',
      sentBody: object = body,
    ) => {
      const sent = request(app.url + path, {
        agent,
        method,
        headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
      });
      sent.end(method === 'POST' ? JSON.stringify(sentBody) : undefined);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      await once(answer.resume(), 'end');
      return [answer.statusCode, sent.reusedSocket];
    };
    const models = '/v1/preview/models';

    it('who was believed is the sender of that header only, and under that scheme only', async () => {
      const [reader, trainer] = [await app.aKey('reader'), await app.aKey('trainer')];
      await ask(basic(reader));
      expect(await ask(basic(reader))).toEqual([200, true]);
      expect(await ask(basic(newSecret()))).toEqual([401, true]);
      expect(await ask(basic(trainer))).toEqual([403, true]);
      expect(await ask(basic(reader))).toEqual([200, true]);
      expect(await ask(`Bearer ${reader}`)).toEqual([401, true]);
      expect(await ask(basic(reader), models, 'GET')).toEqual([401, true]);
      expect(await ask(`Bearer ${reader}`, models, 'GET')).toEqual([200, true]);
      expect(await ask(`Bearer ${reader}`)).toEqual([401, true]);
    });

    it('a key counts in the header only, and for the request that held it', async () => {
      const key = await app.aKey('admin');
      const routes = [
        ['Basic', 'POST', '/call/read'],
        ['Bearer', 'GET', models],
        ['Bearer', 'POST', '/v1/preview/trainer/claims'],
      ] as const;
      const headers: [string | undefined, string | undefined][] = [
        [undefined, undefined],
        ['Basic', basic(key)],
        ['Basic, unknown key', basic(newSecret())],
        ['Bearer', `Bearer ${key}`],
        ['Bearer, unknown key', `Bearer ${newSecret()}`],
        ['Digest', `Digest ${key}`],
      ];
      const wrong: unknown[] = [];
      for (const [scheme, method, path] of routes)
        for (const [name, authorization] of headers)
          for (const place of ['nowhere', 'query', 'body'] as const) {
            const to = place === 'query' ? `${path}?access_token=${key}` : path;
            const sent = {
              ...body,
              worker_id: 'w',
              ...(place === 'body' && { access_token: key }),
            };
            const [status] = await ask(authorization, to, method, sent);
            const [next, isReused] = await ask(undefined, path, method, sent);
            const isTaken = status === 200 || status === 204;
            if (isTaken !== (name === scheme) || next !== 401 || !isReused)
              wrong.push([path, name, place, status, next, isReused]);
          }
      expect(wrong).toEqual([]);
    });

    it('a key that is revoked or expires is refused in the next request', async () => {
      const expiring = await app.aKey('reader');
      await app.query(`UPDATE api_keys SET expires_at = now() + interval '1 s' WHERE hint = $1`, [
        expiring.slice(0, 8),
      ]);
      expect((await ask(basic(expiring)))[0]).toBe(200);
      await sleep(1100);
      expect(await ask(basic(expiring))).toEqual([401, true]);

      const { body: created } = await app.post('/keys/create', {
        user: 'a',
        role: 'reader',
        scopes: ['*'],
      });
      expect((await ask(basic(created.secret)))[0]).toBe(200);
      expect((await app.post('/keys/revoke', { id: created.id })).status).toBe(200);
      expect(await ask(basic(created.secret))).toEqual([401, true]);
    });
  });

  describe('keys', () => {
    const create = (request: object, key = app.key) =>
      app.post(
        '/keys/create',
        { user: 'bob', role: 'reader', scopes: ['acme/*'], ...request },
        { key },
      );

    it('are told what they are, by either scheme', async () => {
      const { id, secret } = (await create({ expires_at: '2099-01-01T00:00:00Z' })).body;
      for (const scheme of [basic(secret), `Bearer ${secret}`]) {
        const answer = await send(`${app.url}/me`, undefined, { authorization: scheme }, 'GET');
        expect([answer.status, answer.body]).toEqual([
          200,
          {
            id,
            user: 'bob',
            role: 'reader',
            scopes: ['acme/*'],
            expires_at: '2099-01-01T00:00:00.000Z',
            by: 'key',
            person: null,
            grants: [{ role: 'reader', scopes: ['acme/*'] }],
          },
        ]);
      }
    });

    it('are issued once, listed without their secret, and revoked', async () => {
      const { status, body: created } = await create({});
      expect(status).toBe(200);
      expect(created).toEqual({
        id: expect.any(String),
        secret: expect.stringMatching(/^skn_[0-9A-Za-z]{36}$/),
      });
      const list = await app.post('/keys/list', {});
      expect(list.text).not.toContain(created.secret);
      expect(list.body.keys).toContainEqual({
        id: created.id,
        user: 'bob',
        role: 'reader',
        scopes: ['acme/*'],
        hint: created.secret.slice(0, 8),
        created_at: expect.any(String),
        expires_at: null,
        revoked_at: null,
        user_id: null,
        created_by: 'ada',
      });
      expect((await app.post('/keys/revoke', { id: created.id })).body.revoked_at).toEqual(
        expect.any(String),
      );
      expect((await app.post('/call/read', body, { key: created.secret })).status).toBe(401);
    });

    it('are listed in pages, those within the caller’s scopes only', async () => {
      const admin = await app.aKey('admin', ['paged/*']);
      const ids = [];
      for (const scopes of [['paged/*'], ['paged/a', 'paged/b'], ['paged/a'], ['paged/c']])
        ids.push((await create({ scopes })).body.id);
      await create({ scopes: ['paged/a', 'other/b'] });
      await create({ scopes: ['*'] });
      const list = async (body: object, key = admin) => {
        const answer = await app.post('/keys/list', body, { key });
        return { ...answer.body, keys: answer.body.keys.map(({ id }: { id: string }) => id) };
      };
      const all = await list({});
      expect(all).toEqual({ keys: [expect.any(String), ...ids], has_more: false });
      expect(await list({ limit: 2 })).toEqual({ keys: all.keys.slice(0, 2), has_more: true });
      const rest = { keys: ids.slice(1), has_more: false };
      expect(await list({ limit: 3, after: ids[0] })).toEqual(rest);
      const narrow = await app.aKey('admin', ['paged/a', 'paged/b']);
      expect((await list({}, narrow)).keys).toEqual([ids[1], ids[2], expect.any(String)]);
      expect((await app.post('/keys/list', { limit: 1001 })).status).toBe(400);
    });

    it('are listed in a slot, which an answer that is not read holds', async () => {
      const entity = 'unread';
      await app.query(
        `INSERT INTO api_keys (id, user_name, role, scopes, secret_hash, hint)
         SELECT gen_random_uuid(), 'u', 'reader', ARRAY[$1 || '/' || repeat('p', 40000)], sha256(n::text::bytea), 'h'
         FROM generate_series(1, 999) n`,
        [entity],
      );
      const admin = await app.aKey('admin', [`${entity}/*`]);
      const held = 4; // four of six slots
      const sockets = Array.from({ length: 2 * held }, () => {
        const { hostname, port } = new URL(app.url);
        const socket = connect(Number(port), hostname).pause();
        socket.write(
          `POST /keys/list HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(admin)}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
        );
        return socket;
      });
      const counts = () => app.app.get(Database).longCounts;
      await until(() => counts().held === held && counts().waiting === held);
      for (const socket of sockets) socket.destroy();
      await until(() => counts().held === 0 && counts().waiting === 0);
      const { body } = await app.post('/keys/list', { limit: 998 }, { key: admin });
      expect([body.keys.length, body.has_more]).toEqual([998, true]);
      await app.query(`DELETE FROM api_keys WHERE scopes[1] LIKE 'unread/p%'`);
    });

    it('have a bound on the length of their scopes', async () => {
      const scopes = (length: number) =>
        Array.from({ length: 100 }, (_, i) => `acme/${'p'.repeat(length)}${i}`);
      expect((await create({ scopes: scopes(70) })).status).toBe(200);
      expect(await create({ scopes: scopes(90) })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('at most 8192 characters') },
      });
    });

    it('are stored as a hash only', async () => {
      const { body: created } = await create({});
      const rows = await app.query('SELECT k::text AS row FROM api_keys k');
      expect(rows.map(({ row }) => row).join()).not.toContain(created.secret.slice(8));
    });

    it('of an admin of one entity reach no further than that', async () => {
      const admin = await app.aKey('admin', ['acme/*']);
      expect((await create({ scopes: ['acme/x', 'acme/*'] }, admin)).status).toBe(200);
      for (const scopes of [['*'], ['other/*'], ['acme/x', 'other/y']])
        expect((await create({ scopes }, admin)).status).toBe(403);
      const { id } = (await create({ scopes: ['other/*'] })).body;
      expect((await app.post('/keys/list', {}, { key: admin })).text).not.toContain(id);
      expect((await app.post('/keys/revoke', { id }, { key: admin })).status).toBe(404);
    });

    it('of a key that expires expire with it at the latest', async () => {
      const expires_at = '2100-01-01T00:00:00Z';
      const { secret } = (await create({ role: 'admin', expires_at })).body;
      expect((await create({ expires_at }, secret)).status).toBe(200);
      for (const later of [{}, { expires_at: null }, { expires_at: '2100-01-01T00:00:01Z' }])
        expect(await create(later, secret)).toMatchObject({
          status: 403,
          body: { detail: expect.stringContaining('expires_at') },
        });
    });

    it('are for admins', async () => {
      const writer = await app.aKey('writer');
      const id = '00000000-0000-4000-8000-000000000000';
      expect((await create({}, writer)).status).toBe(403);
      expect((await app.post('/keys/list', {}, { key: writer })).status).toBe(403);
      expect((await app.post('/keys/revoke', { id }, { key: writer })).status).toBe(403);
    });

    it('have a user, unless a person makes them', async () => {
      expect(await create({ user: undefined })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'user', message: expect.stringContaining('signed in') }] },
      });
    });

    it.each<[string, object]>([
      ['user', { user: '' }],
      ['role', { role: 'root' }],
      ['scopes', { scopes: [] }],
      ['scopes[1]', { scopes: ['*', 'acme'] }],
      ['scopes[0]', { scopes: ['*/*'] }],
      ['expires_at', { expires_at: 'soon' }],
    ])('refuse a bad %s: %j', async (path, request) => {
      expect(await create(request)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    });

    it('that are not there cannot be revoked', async () => {
      expect(
        (await app.post('/keys/revoke', { id: '00000000-0000-4000-8000-000000000000' })).status,
      ).toBe(404);
      expect((await app.post('/keys/revoke', { id: 'x' })).status).toBe(400);
    });
  });

  it('limits failed attempts of an address, and never those of a valid key', async () => {
    const failures = await Promise.all(
      Array.from({ length: 40 }, () => read({ authorization: basic(newSecret()) })),
    );
    const limited = failures.find(({ status }) => status === 429)!;
    expect(limited.body).toMatchObject({ code: 'rate_limited' });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await read({ authorization: basic(app.key) })).status).toBe(200);
    expect((await read({ authorization: basic(await app.aKey()) })).status).toBe(200);
    expect((await read({})).status).toBe(401);
  });
});

import { generateKeyPair, exportJWK, SignJWT } from 'jose';
import { keysBySecrets } from '../../src/platform/auth/keys/keys.query.js';
import { hashSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, send, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { type SignedIn, signedInPerson } from '../support/people.js';
import { Browser, startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';

const verified = (name: string) => ({ email: `${name}@example.com`, email_verified: true, name });
const ACCOUNTS = {
  root: verified('root'),
  pat: { ...verified('pat'), groups: ['eng, all'] },
  lee: { ...verified('lee'), groups: ['eng', 'all'] },
};

let app: TestApp;
let provider: TestProvider;
let publicUrl: string;
let workloads: Record<string, string>;
beforeAll(async () => {
  publicUrl = `http://127.0.0.1:${await freePort()}`;
  provider = await startProvider({ publicUrl, accounts: ACCOUNTS });
  workloads = { issuer: provider.issuer, audience: 'ci', jwks_uri: `${provider.issuer}/jwks` };
  app = await startApp({
    PUBLIC_URL: publicUrl,
    ...provider.settings(),
    OIDC_ADMINS: 'root@example.com',
    PERSONAL_KEY_DAYS: '100',
    TRUST_PROXY: '1',
    JWT_ISSUERS: JSON.stringify([
      { ...workloads, claims: { repo: 'acme/app' }, role: 'writer', scopes: ['acme/ci'] },
      {
        ...workloads,
        claims: { repo: 'acme/app', ref: 'main' },
        role: 'admin',
        scopes: ['acme/ci'],
      },
    ]),
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const set = async (body: object, key?: string) =>
  app.post('/members/set', body, key ? { key } : {});
const remove = async (id: string) => app.post('/members/remove', { id });

const person = (subject: keyof typeof ACCOUNTS, roles?: Record<string, string>) =>
  signedInPerson(app, publicUrl, subject, roles);

const start = (project_id: string) => ({ start: aStart({ project_id }) });

describe('a role', () => {
  it('counts where it was given, the highest in each project', async () => {
    const { ask, me, leave } = await person('pat', {
      'acme/*': 'reader',
      'acme/a': 'writer',
      'other/b': 'admin',
    });
    expect(me).toMatchObject({ role: 'admin', by: 'session' });
    const status = async (path: string, body: object) => (await ask(path, body)).status;
    const statuses = async (project: string) => [
      await status('/calls/query_stats', { project_id: project }),
      await status('/call/start', start(project)),
      await status('/retention/set', { project_id: project, calls_days: null, payload_days: null }),
    ];
    expect(await statuses('acme/z')).toEqual([200, 403, 403]);
    expect(await statuses('acme/a')).toEqual([200, 200, 403]);
    expect(await statuses('other/b')).toEqual([200, 200, 200]);
    expect(await statuses('other/c')).toEqual([403, 403, 403]);
    await leave();
    expect((await ask('/me')).status).toBe(401);
  });

  it('of a group is that of those whom the provider has in it, whatever its name holds', async () => {
    const given = await set({ scope: 'acme/g', role: 'reader', group: 'eng, all' });
    const { ask, me } = await person('pat');
    expect(me.grants).toEqual([{ role: 'reader', scopes: ['acme/g'] }]);
    expect(await new Browser(publicUrl).signIn('lee')).toContain('no_role');
    await remove(given.body.id);
    expect((await ask('/me')).status).toBe(401);
  });

  it.each<[string, object, string]>([
    ['nobody', { scope: 'a/b', role: 'reader' }, 'user_id'],
    ['two at once', { scope: 'a/b', role: 'reader', email: 'a@b.c', group: 'g' }, 'user_id'],
    ['a bad scope', { scope: 'a', role: 'reader', email: 'a@b.c' }, 'scope'],
    ['a bad role', { scope: 'a/b', role: 'trainer', email: 'a@b.c' }, 'role'],
    ['no address', { scope: 'a/b', role: 'reader', email: 'a b@c' }, 'email'],
    [
      'another issuer',
      { scope: 'a/b', role: 'reader', email: 'a@b.c', issuer: 'https://x.example' },
      'issuer',
    ],
  ])('is not given to %s', async (_, body, path) => {
    expect(await set(body)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });

  it('is not given to a person who is not there', async () => {
    const user_id = '00000000-0000-4000-8000-000000000000';
    expect((await set({ scope: 'a/b', role: 'reader', user_id })).status).toBe(404);
    expect((await app.post('/members/remove', { id: user_id })).status).toBe(404);
    expect((await app.post('/users/deactivate', { id: user_id })).status).toBe(404);
  });

  it('is told in the audit, with who gave it', async () => {
    const root = await person('root');
    const { body } = await root.ask('/members/set', {
      scope: 'acme/t',
      role: 'reader',
      email: 'new@example.com',
    });
    await root.ask('/members/set', { scope: 'acme/t', role: 'writer', email: 'NEW@example.com' });
    await root.ask('/members/remove', { id: body.id });
    const { events } = (await app.post('/audit/query', { filter: { targets: [body.id] } })).body;
    expect(events.map(({ action, user_id, detail }: any) => [action, user_id, detail])).toEqual([
      [
        'members.remove',
        root.id,
        { user_id: null, email: 'new@example.com', group: null, role: 'writer' },
      ],
      [
        'members.set',
        root.id,
        { email: 'new@example.com', issuer: provider.issuer, role: 'writer', was: 'reader' },
      ],
      [
        'members.set',
        root.id,
        { email: 'new@example.com', issuer: provider.issuer, role: 'reader', was: null },
      ],
    ]);
  });
});

describe('an admin of a project', () => {
  it('gives and takes roles there, sees nothing of another, and deactivates nobody', async () => {
    const elsewhere = await set({ scope: 'secret/x', role: 'admin', email: 'someone@example.com' });
    const above = await set({ scope: 'acme/*', role: 'reader', group: 'secret group' });
    await person('lee', { 'secret/x': 'writer' });
    const { ask, leave } = await person('pat', { 'acme/p': 'admin' });
    for (const scope of ['*', 'acme/*', 'acme/q', 'secret/x'])
      expect(
        (await ask('/members/set', { scope, role: 'reader', email: 'a@example.com' })).status,
      ).toBe(403);
    for (const { body } of [elsewhere, above])
      expect((await ask('/members/remove', { id: body.id })).status).toBe(404);
    const nowhere = await ask('/members/remove', { id: '00000000-0000-4000-8000-000000000000' });
    expect(nowhere.status).toBe(404);
    const given = await ask('/members/set', {
      scope: 'acme/p',
      role: 'admin',
      email: 'a@example.com',
    });
    expect(given).toMatchObject({
      status: 200,
      body: { scope: 'acme/p', role: 'admin', email: 'a@example.com' },
    });
    const members = await ask('/members/list', {});
    expect(members.body.members.map(({ email }: any) => email).toSorted()).toEqual([
      'a@example.com',
      'pat@example.com',
    ]);
    const users = await ask('/users/list', {});
    expect(users.body.users).toMatchObject([{ email: 'pat@example.com', groups: null }]);
    for (const { text } of [
      members,
      users,
      await ask('/audit/query', {}),
      await ask('/projects/query', {}),
    ])
      expect(text).not.toContain('secret');
    const lee = (await app.post('/users/list', {})).body.users.find(
      ({ name }: any) => name === 'lee',
    );
    expect(
      (await ask('/members/set', { scope: 'acme/p', role: 'reader', user_id: lee.id })).status,
    ).toBe(404);
    expect((await ask('/users/deactivate', { id: users.body.users[0].id })).status).toBe(403);
    expect((await ask('/members/remove', { id: given.body.id })).status).toBe(200);
    await leave();
  });
});

it('nobody deactivates themselves', async () => {
  const root = await person('root');
  expect((await root.ask('/users/deactivate', { id: root.id })).status).toBe(409);
});

describe('a key of a person', () => {
  const create = (ask: SignedIn['ask'], body: object) =>
    ask('/keys/create', { role: 'reader', scopes: ['acme/k'], ...body });

  it('is made by anybody, for what they may do, and ends', async () => {
    const { ask, id, leave } = await person('pat', { 'acme/k': 'writer' });
    const made = await create(ask, { role: 'writer' });
    expect(made.status).toBe(200);
    const me = await send(
      `${app.url}/me`,
      undefined,
      { authorization: basic(made.body.secret) },
      'GET',
    );
    expect(me.body).toMatchObject({
      by: 'personal key',
      user: 'pat@example.com',
      person: { id },
      role: 'writer',
    });
    const days = (Date.parse(me.body.expires_at) - Date.now()) / 86_400_000;
    expect(days).toBeCloseTo(90, 1);
    const list = await ask('/keys/list', { own: true });
    expect(list.body.keys).toMatchObject([
      { id: made.body.id, user_id: id, created_by: 'pat@example.com' },
    ]);
    expect((await ask('/keys/list', {})).status).toBe(403);
    expect((await create(ask, { role: 'admin' })).status).toBe(403);
    expect((await create(ask, { scopes: ['acme/*'] })).status).toBe(403);
    expect((await create(ask, { user: 'service' })).status).toBe(403);
    expect(
      (await create(ask, { expires_at: new Date(Date.now() + 101 * 86_400_000).toISOString() }))
        .status,
    ).toBe(403);
    const other = await app.post('/keys/create', { user: 's', role: 'reader', scopes: ['acme/k'] });
    expect((await ask('/keys/revoke', { id: other.body.id })).status).toBe(403);
    expect((await ask('/keys/revoke', { id: made.body.id })).body.revoked_at).not.toBeNull();
    await leave();
  });

  it('carries the person, and can do what both may now', async () => {
    const { ask, id, leave } = await person('pat', { 'acme/k': 'writer' });
    const { secret } = (await create(ask, { role: 'writer' })).body;
    const write = () => app.post('/call/start', start('acme/k'), { key: secret });
    const read = () => app.post('/calls/query_stats', { project_id: 'acme/k' }, { key: secret });
    const { body } = await write();
    const call = await app.post('/call/read', { project_id: 'acme/k', id: body.id });
    expect(call.body.call.svc_user_id).toBe('pat@example.com');
    await set({ scope: 'acme/k', role: 'reader', user_id: id });
    expect([(await write()).status, (await read()).status]).toEqual([403, 200]);
    await set({ scope: 'acme/k', role: 'admin', user_id: id });
    expect((await write()).status).toBe(200);
    expect((await app.post('/keys/list', {}, { key: secret })).status).toBe(403); // the key has the role writer
    await leave();
    expect([(await write()).status, (await read()).status]).toEqual([401, 401]);
  });

  it('ends while the person is deactivated', async () => {
    const { ask, id, leave } = await person('pat', { 'acme/k': 'writer' });
    const { secret } = (await create(ask, {})).body;
    const read = async () =>
      (await app.post('/calls/query_stats', { project_id: 'acme/k' }, { key: secret })).status;
    await app.post('/users/deactivate', { id });
    expect(await read()).toBe(401);
    await app.post('/users/activate', { id });
    expect(await read()).toBe(200);
    expect((await ask('/me')).status).toBe(401); // the session has ended
    await leave();
  });

  it('is one of at most 50', async () => {
    const { ask, id, leave } = await person('pat', { 'acme/k': 'reader' });
    await app.query(
      `INSERT INTO api_keys (id, user_name, role, scopes, secret_hash, hint, user_id, expires_at)
       SELECT gen_random_uuid(), 'pat', 'reader', '{acme/k}', sha256(i::text::bytea), 'skn_', $1, now() + interval '1 day'
       FROM generate_series(1, 50) i`,
      [id],
    );
    expect(await create(ask, {})).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining('50') },
    });
    await app.query('DELETE FROM api_keys WHERE user_id = $1', [id]);
    await leave();
  });

  it('costs a key of a service nothing: its look-up reads no table of people', async () => {
    const { ask, leave } = await person('pat', { 'acme/k': 'reader' });
    const own = (await create(ask, {})).body.secret;
    const read = async (secret: string) => {
      const { text, values } = keysBySecrets([hashSecret(secret)]).toQuery();
      const [plan] = await app.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      return tablesRead(plan['QUERY PLAN'][0].Plan);
    };
    expect(await read(await app.aKey('writer', ['acme/k']))).toEqual(['api_keys']);
    expect(await read(own)).toEqual(['api_keys', 'memberships', 'users']);
    await leave();
  });
});

/** The tables that a plan has read. */
function tablesRead(plan: any): string[] {
  const inner = (plan.Plans ?? []).flatMap(tablesRead);
  const own = plan['Relation Name'] && plan['Actual Loops'] > 0 ? [plan['Relation Name']] : [];
  return [...new Set<string>([...own, ...inner])].toSorted();
}

describe('a token of a workload', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const claims = { sub: 'repo:acme/app', repo: 'acme/app', aud: 'ci' };
  let addresses = 0;
  /** Each request has an address of its own, since failed attempts of one are limited. */
  const me = (token: string) => {
    const address = `10.0.0.${++addresses}`;
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
    return send(`${app.url}/me`, undefined, headers, 'GET');
  };

  it('has the roles of the entries whose claims it has', async () => {
    const answer = await me(await provider.sign(claims));
    const host = new URL(provider.issuer).host;
    expect(answer.body).toMatchObject({
      by: 'token',
      user: `${host}#repo:acme/app`,
      grants: [{ role: 'writer', scopes: ['acme/ci'] }],
      person: null,
    });
    expect((await me(await provider.sign({ ...claims, ref: 'main' }))).body.role).toBe('admin');
    const spans = { resourceSpans: [] };
    const sent = (project: string, token: string) =>
      send(`${app.url}/otel/v1/traces`, spans, {
        authorization: `Bearer ${token}`,
        project_id: project,
      });
    expect((await sent('acme/ci', await provider.sign(claims))).status).toBe(200);
  });

  it.each<[string, () => Promise<string>]>([
    ['another audience', () => provider.sign({ ...claims, aud: 'skein' })],
    ['another issuer', () => provider.sign({ ...claims, iss: 'https://x.example' })],
    ['other claims', () => provider.sign({ ...claims, repo: 'evil/app' })],
    ['no claims', () => provider.sign({ sub: 'x', aud: 'ci' })],
    ['no subject', () => provider.sign({ repo: 'acme/app', aud: 'ci' })],
    ['an empty subject', () => provider.sign({ ...claims, sub: '' })],
    ['a subject that a terminal obeys', () => provider.sign({ ...claims, sub: 'a\u001b[31m' })],
    ['a time to begin that is far away', () => provider.sign({ ...claims, nbf: now() + 3600 })],
    [
      'an end that is over',
      () => provider.sign({ ...claims, iat: now() - 7200, exp: now() - 3600 }),
    ],
    [
      'an age of two days',
      () => provider.sign({ ...claims, iat: now() - 2 * 86_400, exp: now() + 60 }),
    ],
    [
      'a claim that only begins alike',
      () => provider.sign({ sub: 'x', aud: 'ci', repo: ['acme/apps'] }),
    ],
    [
      'a key of its own',
      async () => {
        const { privateKey, publicKey } = await generateKeyPair('RS256');
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'RS256', jwk: await exportJWK(publicKey) })
          .setIssuer(provider.issuer)
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(privateKey);
      },
    ],
    [
      'a key that is fetched from where it says',
      async () => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'RS256', jku: 'http://127.0.0.1:1/jwks', kid: 'x' })
          .setIssuer(provider.issuer)
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(privateKey);
      },
    ],
    [
      'the algorithm none',
      async () =>
        `${btoa('{"alg":"none"}').replaceAll('=', '')}.${(await provider.sign(claims)).split('.')[1]}.AA`,
    ],
    [
      'the public key as a secret',
      () =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: provider.publicKey().kid! })
          .setIssuer(provider.issuer)
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(Buffer.from(JSON.stringify(provider.publicKey()))),
    ],
  ])('with %s is refused', async (_, token) => {
    const answer = await me(await token());
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
  });

  it('is not taken as Basic', async () => {
    const token = await provider.sign(claims);
    expect((await app.post('/call/start', start('acme/ci'), { key: token })).status).toBe(401);
  });
});

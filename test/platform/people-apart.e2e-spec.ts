import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basic, send, startApp, type TestApp } from '../support/app.js';
import { signedInPerson } from '../support/people.js';
import { startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';

const verified = (name: string) => ({ email: `${name}@example.com`, email_verified: true, name });
const ACCOUNTS = {
  pat: verified('pat'),
  lee: verified('lee'),
  kit: verified('kit'),
  kit2: verified('kit2'),
};

/** An issuer that fails to return its keys. */
let questions = 0;
const away = createServer((_, response) => {
  questions++;
  response.writeHead(500).end();
});

let app: TestApp;
let provider: TestProvider;
let publicUrl: string;
let awayIssuer: string;
beforeAll(async () => {
  publicUrl = `http://127.0.0.1:${await freePort()}`;
  provider = await startProvider({ publicUrl, accounts: ACCOUNTS });
  await new Promise<void>((resolve) => away.listen(0, '127.0.0.1', resolve));
  awayIssuer = `http://127.0.0.1:${(away.address() as AddressInfo).port}`;
  const entry = {
    audience: 'ci',
    claims: { repo: 'acme/app' },
    role: 'writer',
    scopes: ['acme/ci'],
  };
  app = await startApp({
    PUBLIC_URL: publicUrl,
    ...provider.settings(),
    OIDC_ALLOWED_DOMAINS: 'example.com',
    JWT_ISSUERS: JSON.stringify([
      { ...entry, issuer: awayIssuer },
      { ...entry, issuer: 'http://localhost:9', jwks_uri: `${awayIssuer}/jwks` },
    ]),
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
  away.close();
});

const person = (subject: keyof typeof ACCOUNTS, roles?: Record<string, string>) =>
  signedInPerson(app, publicUrl, subject, roles);

it('an admin of a project is not told of sessions of people who have no role any more', async () => {
  const lee = await person('lee', { 'secret/x': 'reader' });
  await lee.leave();
  await lee.ask('/console/logout', {});
  const pat = await person('pat', { 'acme/p': 'admin' });
  expect((await pat.ask('/audit/query', {})).text).not.toContain('lee@example.com');
  expect(
    (await app.post('/audit/query', { filter: { user_ids: [lee.id] } })).body.events,
  ).toContainEqual(expect.objectContaining({ action: 'people.sign_out' }));
  await pat.leave();
});

describe('a key of a person', () => {
  it('knows and ends none of their keys that reach further', async () => {
    const { ask, leave } = await person('pat', { 'acme/k': 'reader', 'secret/x': 'reader' });
    const make = async (scope: string) =>
      (await ask('/keys/create', { role: 'reader', scopes: [scope] })).body;
    const [one, other] = [await make('acme/k'), await make('secret/x')];
    const list = await app.post('/keys/list', { own: true }, { key: one.secret });
    expect(list.body.keys.map(({ id }: any) => id)).toEqual([one.id]);
    const revoked = await app.post('/keys/revoke', { id: other.id }, { key: one.secret });
    expect(revoked.status).toBe(403);
    expect((await ask('/keys/list', { own: true })).body.keys).toHaveLength(2);
    expect((await app.post('/keys/revoke', { id: one.id }, { key: one.secret })).status).toBe(200);
    await leave();
  });

  it('ends when the address of the person is of a domain that may not sign in any more', async () => {
    const { ask, id, leave } = await person('kit', { 'acme/k': 'reader' });
    const { secret } = (await ask('/keys/create', { role: 'reader', scopes: ['acme/k'] })).body;
    await app.query(`UPDATE users SET email = 'kit@else.example' WHERE id = $1`, [id]);
    await app.post('/members/set', { scope: 'acme/z', role: 'reader', user_id: id }); // the change takes effect at once
    const me = await send(`${app.url}/me`, undefined, { authorization: basic(secret) }, 'GET');
    expect([me.status, (await ask('/me')).status]).toEqual([401, 401]);
    await leave();
  });
});

describe('an entity that gives roles to a person of another one', () => {
  it('does not have them in its share: they count where they had a role first', async () => {
    const { ask, leave } = await person('kit2', { 'other/*': 'writer' });
    await app.post('/members/set', { scope: 'acme/a', role: 'admin', email: 'kit2@example.com' });
    expect((await ask('/me')).body.scopes).toEqual(['other/*', 'acme/a']);
    await leave();
  });

  it('gives one only so many, and only so many in all', async () => {
    const fill = (kind: string, count: number) =>
      app.query(
        `INSERT INTO memberships (id, scope, kind, issuer, subject, role)
         SELECT gen_random_uuid(), 'full/p' || i, 'group', $1, CASE $2 WHEN 'one' THEN 'g' ELSE 'g' || i END, 'reader'
         FROM generate_series(1, $3::int) i`,
        [provider.issuer, kind, count],
      );
    const give = (scope: string, group: string) =>
      app.post('/members/set', { scope, role: 'reader', group });
    await fill('one', 100);
    expect(await give('full/more', 'g')).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining('100 roles in full') },
    });
    expect((await give('full/p1', 'g')).status).toBe(200); // it replaces another role
    expect((await give('full/more', 'h')).status).toBe(200);
    expect((await give('fuller/p', 'g')).status).toBe(200);
    await fill('many', 9899);
    expect(await give('full/more', 'i')).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining('10000 members') },
    });
    await app.query(`DELETE FROM memberships WHERE scope LIKE 'full%'`);
  });
});

it('tokens of an issuer that is away are refused as such, and ask it seldom', async () => {
  for (const iss of [awayIssuer, 'http://localhost:9']) {
    questions = 0;
    const claims = { iss, sub: 'x', aud: 'ci', repo: 'acme/app' };
    for (let i = 0; i < 30; i++) {
      const authorization = `Bearer ${await provider.sign(claims, { kid: `k${i}` })}`;
      const answer = await send(`${app.url}/me`, undefined, { authorization }, 'GET');
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    }
    expect(questions).toBeLessThan(10);
  }
});

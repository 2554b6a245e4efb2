import { SignJWT, UnsecuredJWT } from 'jose';
import { startApp, type TestApp } from '../support/app.js';
import { Browser, startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';

const ACCOUNTS = {
  ada: { email: 'Ada@Example.com', email_verified: true, name: 'Ada', groups: ['ops'] },
  bob: { email: 'bob@example.com', email_verified: true, name: 'Bob', groups: ['eng', 'a,admins'] },
  eve: { email: 'ada@example.com', email_verified: false, name: 'Eve', groups: [] },
  // the first letter is the Kelvin sign (U+212A)
  kim: { email: '\u212Aim@example.com', email_verified: true, name: 'Kim', groups: [] },
  out: { email: 'out@else.example', email_verified: true, name: 'Out', groups: [] },
};

let app: TestApp;
let provider: TestProvider;
let publicUrl: string;
beforeAll(async () => {
  publicUrl = `http://127.0.0.1:${await freePort()}`;
  provider = await startProvider({ publicUrl, accounts: ACCOUNTS });
  app = await startApp({
    PUBLIC_URL: publicUrl,
    ...provider.settings(),
    OIDC_ADMINS: 'ada@example.com, admins',
    OIDC_ALLOWED_DOMAINS: 'example.com',
    OIDC_NAME: 'Acme',
  });
  app.app.set('trust proxy', true);
});
afterAll(async () => {
  await app.close();
  await provider.close();
});
afterEach(() => provider.instead.clear());

const aBrowser = () => new Browser(publicUrl);

async function signedIn(subject: string): Promise<Browser> {
  const browser = aBrowser();
  expect(await browser.signIn(subject)).toBe(`${publicUrl}/console/`);
  return browser;
}

const me = async (browser: Browser) => (await browser.console('/me')).json() as Promise<any>;

/** The reason of a failed sign-in in the address. The address has nothing else besides a reference. */
function reasonIn(url: string): string | undefined {
  const [, reason, reference] =
    /\/console\/#sign-in-failed=(\w+)&reference=([\w-]+)$/.exec(url) ?? [];
  return reference && reason;
}

describe('signing in', () => {
  it('lets a person in, who lands where they wanted to go', async () => {
    const browser = aBrowser();
    const to = '/console/p/acme/demo/traces?call=1';
    expect(await browser.signIn('ada', { to })).toBe(publicUrl + to);
    expect(await me(browser)).toMatchObject({
      user: 'ada@example.com',
      role: 'admin',
      scopes: ['*'],
      by: 'session',
      expires_at: null,
      person: { issuer: provider.issuer, email: 'ada@example.com', name: 'Ada', groups: ['ops'] },
      grants: [{ role: 'admin', scopes: ['*'] }],
    });
  });

  it('carries the person in what is written, and in the audit', async () => {
    const browser = await signedIn('ada');
    const start = { project_id: 'acme/demo', op_name: 'x', started_at: '2026-01-01T00:00:00Z' };
    const { id } = (await (
      await browser.console('/call/start', { start: { ...start, attributes: {}, inputs: {} } })
    ).json()) as any;
    const read = await app.post('/call/read', { project_id: 'acme/demo', id });
    expect(read.body.call.svc_user_id).toBe('ada@example.com');
    await browser.console('/calls/delete', { project_id: 'acme/demo', call_ids: [id] });
    const { person } = await me(browser);
    const events = (await app.post('/audit/query', { filter: { user_ids: [person.id] } })).body
      .events;
    expect(events.map(({ action, key_id, user }: any) => [action, key_id, user])).toEqual(
      expect.arrayContaining([
        ['calls.delete', null, 'ada@example.com'],
        ['people.sign_in', null, 'ada@example.com'],
      ]),
    );
  });

  it.each([
    'https://evil.example/console/',
    '//evil.example/console/',
    '/console/../../evil',
    '/console//evil.example/..//../x',
    '/\\evil.example',
    '/console/\\..\\..\\evil',
    'javascript:alert(1)',
    '/console/\r\nset-cookie: a=b',
    '/auth/0/sign-in',
    `/console/${'x'.repeat(3000)}`,
  ])('never leads to a foreign place: %j', async (to) => {
    const url = await aBrowser().signIn('ada', { to });
    expect(url).toMatch(new RegExp(`^${publicUrl}/console/`));
    expect(new URL(url).origin).toBe(publicUrl);
  });

  it('tells the console with whom', async () => {
    const info = (await (await fetch(`${app.url}/server_info`)).json()) as any;
    expect(info).toMatchObject({
      sign_in: [{ name: 'Acme', url: `${publicUrl}/auth/0/sign-in` }],
      key_sign_in: true,
    });
  });

  it('knows only the providers of the settings', async () => {
    for (const path of ['1/sign-in', '1/callback', 'x/sign-in'])
      expect((await fetch(`${app.url}/auth/${path}`)).status).toBe(404);
  });

  it('gives nothing to somebody without a role, who is there for admins to see', async () => {
    const browser = aBrowser();
    expect(reasonIn(await browser.signIn('bob'))).toBe('no_role');
    expect(browser.sessionCookie).toBeUndefined();
    const { users } = (await app.post('/users/list', {})).body;
    expect(users).toContainEqual(
      expect.objectContaining({ email: 'bob@example.com', groups: ['eng', 'a,admins'] }),
    );
  });

  it.each([
    ['eve', 'domain', 'the address of an admin, which is not verified'],
    ['kim', 'no_role', 'an address that looks like one'],
    ['out', 'domain', 'an address of another domain'],
  ])('gives nothing to %s (%s): %s', async (subject, reason) => {
    await app.post('/members/set', { scope: '*', role: 'admin', email: 'kim@example.com' });
    const browser = aBrowser();
    expect(reasonIn(await browser.signIn(subject))).toBe(reason);
    expect(browser.sessionCookie).toBeUndefined();
  });

  it('gives the role that waited for an address, to the first who has it', async () => {
    await app.post('/members/set', {
      scope: 'acme/mail',
      role: 'writer',
      email: 'Bob@Example.com',
    });
    const browser = await signedIn('bob');
    const { person, grants } = await me(browser);
    expect(grants).toEqual([{ role: 'writer', scopes: ['acme/mail'] }]);
    const { members } = (await app.post('/members/list', { scope: 'acme/mail' })).body;
    expect(members).toMatchObject([
      { user_id: person.id, email: 'bob@example.com', role: 'writer' },
    ]);
    await app.post('/members/remove', { id: members[0].id });
    expect((await browser.console('/me')).status).toBe(401); // the last role was removed
  });
});

describe('a sign-in that is refused', () => {
  /** Makes the provider's token endpoint answer with its own access token and another ID token. */
  const answerWith = (idToken: (nonce: string) => Promise<string> | string) => {
    const nonces: string[] = [];
    provider.instead.set('/token', async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          access_token: 'a',
          token_type: 'bearer',
          id_token: await idToken(nonces[0]!),
        }),
      );
    });
    provider.instead.set('/me', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"sub":"ada"}');
    });
    return nonces;
  };

  /** Signs in up to the callback, and returns its URL. */
  async function upToCallback(browser: Browser, subject = 'ada'): Promise<string> {
    return browser.signIn(subject, { until: /\/auth\/\d\/callback/ });
  }

  async function nonceOf(browser: Browser): Promise<string> {
    const [, cookie] = [...browser.cookies].find(([name]) => name.startsWith('skein_sign_in'))!;
    return JSON.parse(Buffer.from(cookie, 'base64url').toString()).nonce;
  }

  const claims = { sub: 'ada', email: 'ada@example.com', email_verified: true };

  it('would be let in with the token that it forges, if nothing were wrong with it', async () => {
    const browser = aBrowser();
    const callback = await upToCallback(browser);
    const nonces = answerWith((nonce) => provider.sign({ ...claims, nonce }));
    nonces.push(await nonceOf(browser));
    expect((await browser.follow(callback)).url).toBe(`${publicUrl}/console/`);
  });

  it.each<[string, (nonce: string) => Promise<string> | string]>([
    ['another nonce', () => provider.sign({ ...claims, nonce: 'x' })],
    ['no nonce', () => provider.sign(claims)],
    ['another audience', (nonce) => provider.sign({ ...claims, nonce, aud: 'another' })],
    ['another issuer', (nonce) => provider.sign({ ...claims, nonce, iss: 'https://evil.example' })],
    ['a token that has expired', (nonce) => provider.sign({ ...claims, nonce, exp: 1 })],
    [
      'a clock that is an hour ahead',
      (nonce) =>
        provider.sign({
          ...claims,
          nonce,
          iat: Math.floor(Date.now() / 1000) - 7200,
          exp: Math.floor(Date.now() / 1000) - 3600,
        }),
    ],
    [
      'no signature',
      (nonce) =>
        new UnsecuredJWT({ ...claims, nonce })
          .setIssuer(provider.issuer)
          .setAudience('skein')
          .setIssuedAt()
          .setExpirationTime('5 min')
          .encode(),
    ],
    [
      'a signature by the secret of the client',
      (nonce) =>
        new SignJWT({ ...claims, nonce })
          .setProtectedHeader({ alg: 'HS256' })
          .setIssuer(provider.issuer)
          .setAudience('skein')
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(Buffer.from(provider.settings()['OIDC_CLIENT_SECRET']!)),
    ],
    [
      'a signature by the public key, taken for a secret',
      (nonce) =>
        new SignJWT({ ...claims, nonce })
          .setProtectedHeader({ alg: 'HS256', kid: provider.publicKey().kid! })
          .setIssuer(provider.issuer)
          .setAudience('skein')
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(Buffer.from(JSON.stringify(provider.publicKey()))),
    ],
    ['no subject', (nonce) => provider.sign({ ...claims, nonce, sub: '' })],
    ['rubbish', () => 'rubbish'],
  ])('by %s grants nothing', async (_, idToken) => {
    const browser = aBrowser();
    const callback = await upToCallback(browser);
    answerWith(idToken).push(await nonceOf(browser));
    expect(reasonIn((await browser.follow(callback)).url)).toBe('not_valid');
    expect(browser.sessionCookie).toBeUndefined();
  });

  it('by a code that was used before grants nothing', async () => {
    const browser = aBrowser();
    const callback = await upToCallback(browser);
    const cookies = [...browser.cookies];
    expect((await browser.follow(callback)).url).toBe(`${publicUrl}/console/`);
    expect(reasonIn((await browser.follow(callback)).url)).toBe('expired'); // the attempt is used up
    const replay = aBrowser();
    for (const [name, value] of cookies) replay.cookies.set(name, value);
    expect(reasonIn((await replay.follow(callback)).url)).toBe('not_valid');
  });

  it('by a code that was stolen grants nothing to another browser', async () => {
    const callback = await upToCallback(aBrowser());
    const thief = aBrowser();
    expect(reasonIn((await thief.follow(callback)).url)).toBe('expired');
    await thief.request(`${publicUrl}/auth/0/sign-in`);
    expect(reasonIn((await thief.follow(callback)).url)).toBe('not_valid'); // the state differs
    await thief.request(`${publicUrl}/auth/0/sign-in`);
    const [, own] = [...thief.cookies].find(([name]) => name.startsWith('skein_sign_in'))!;
    const { state } = JSON.parse(Buffer.from(own, 'base64url').toString());
    const mixed = callback.replace(/state=[^&]+/, `state=${state}`);
    expect(reasonIn((await thief.follow(mixed)).url)).toBe('not_valid'); // the code verifier differs
    expect(thief.sessionCookie).toBeUndefined();
  });

  it.each([
    ['without an attempt', ''],
    ['of rubbish', 'rubbish'],
    ['of null', Buffer.from('null').toString('base64url')],
    [
      'that is too old',
      Buffer.from(
        JSON.stringify({
          provider: '0',
          state: 'a',
          nonce: 'a',
          verifier: 'a',
          at: Date.now() - 3_600_000,
        }),
      ).toString('base64url'),
    ],
  ])('by a way back %s grants nothing', async (_, cookie) => {
    const browser = aBrowser();
    if (cookie) browser.cookies.set(`skein_sign_in_${new URL(publicUrl).port}`, cookie);
    const { url } = await browser.follow(`${publicUrl}/auth/0/callback?code=a&state=a`);
    expect(reasonIn(url)).toBe('expired');
  });

  it('by a person who does not consent says so', async () => {
    const browser = aBrowser();
    await browser.request(`${publicUrl}/auth/0/sign-in`);
    const [, own] = [...browser.cookies].find(([name]) => name.startsWith('skein_sign_in'))!;
    const { state } = JSON.parse(Buffer.from(own, 'base64url').toString());
    const iss = encodeURIComponent(provider.issuer);
    const back = `${publicUrl}/auth/0/callback?error=access_denied&state=${state}&iss=${iss}`;
    expect(reasonIn((await browser.follow(back)).url)).toBe('denied');
  });

  it('by an answer that says to be of another issuer grants nothing', async () => {
    const browser = aBrowser();
    const callback = await upToCallback(browser);
    const mixed = callback.replace(
      /iss=[^&]+/,
      `iss=${encodeURIComponent('https://evil.example')}`,
    );
    expect(reasonIn((await browser.follow(mixed)).url)).toBe('not_valid');
  });

  it.each<[string, string]>([
    ['500', 'not_valid'],
    ['rubbish', 'not_valid'],
    ['too much', 'not_valid'],
    ['cut', 'provider_unavailable'],
  ])('by a provider that answers %s says so (%s)', async (what, reason) => {
    const browser = aBrowser();
    const callback = await upToCallback(browser);
    provider.instead.set('/token', (_, response) => {
      if (what === 'cut') return response.destroy();
      if (what === '500') return response.writeHead(500).end('no');
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(
        what === 'rubbish' ? '<html>' : JSON.stringify({ id_token: 'x'.repeat(2e6) }),
      );
    });
    expect(reasonIn((await browser.follow(callback)).url)).toBe(reason);
  });

  it('a person who is deactivated is told so', async () => {
    const browser = await signedIn('ada');
    const { person } = await me(browser);
    expect((await app.post('/users/deactivate', { id: person.id })).body.active).toBe(false);
    expect((await browser.console('/me')).status).toBe(401);
    expect(reasonIn(await aBrowser().signIn('ada'))).toBe('deactivated');
    expect((await app.post('/users/activate', { id: person.id })).body.active).toBe(true);
    await signedIn('ada');
  });
});

it('keys of the provider may be replaced at any time', async () => {
  await signedIn('ada');
  await provider.rotate();
  await signedIn('ada');
});

describe('signing out', () => {
  it('ends the session, and that of the provider', async () => {
    const browser = await signedIn('ada');
    const answer = (await (await browser.console('/console/logout', {})).json()) as any;
    const url = new URL(answer.end_session_url);
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/session/end`);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${publicUrl}/console/`);
    expect((await browser.console('/me')).status).toBe(401);
    const page = await (await browser.request(url.href)).text();
    const body = new URLSearchParams({
      xsrf: /name="xsrf" value="(\w+)"/.exec(page)![1]!,
      logout: 'yes',
    });
    const form = { method: 'POST', body };
    const confirmed = await browser.follow(
      `${provider.issuer}/session/end/confirm`,
      /\/console\//,
      form,
    );
    expect(confirmed.url).toBe(`${publicUrl}/console/`);
    // the provider's session has ended too
    const again = await browser.follow(`${publicUrl}/auth/0/sign-in`);
    expect(await again.response!.text()).toContain('name="login"');
  });

  const logout = (token: string) =>
    fetch(`${app.url}/auth/0/back-channel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    });
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };

  it('by the back channel ends the session that the provider names', async () => {
    const [one, other] = [await signedIn('ada'), await signedIn('ada')];
    const page = await (await one.request(`${provider.issuer}/session/end`)).text();
    const body = new URLSearchParams({
      xsrf: /name="xsrf" value="(\w+)"/.exec(page)![1]!,
      logout: 'yes',
    });
    await one.request(`${provider.issuer}/session/end/confirm`, { method: 'POST', body });
    expect((await one.console('/me')).status).toBe(401);
    expect((await other.console('/me')).status).toBe(200);
    expect((await logout(await provider.sign({ sub: 'ada', jti: '1', events }))).status).toBe(200);
    expect((await other.console('/me')).status).toBe(401);
  });

  it.each<[string, () => Promise<string>]>([
    ['no token', async () => ''],
    ['an ID token', () => provider.sign({ sub: 'ada', nonce: 'n', jti: '1', events })],
    ['no event', () => provider.sign({ sub: 'ada', jti: '1' })],
    ['no name', () => provider.sign({ jti: '1', events })],
    ['another audience', () => provider.sign({ sub: 'ada', jti: '1', events, aud: 'x' })],
    [
      'another issuer',
      () => provider.sign({ sub: 'ada', jti: '1', events, iss: 'https://x.example' }),
    ],
    [
      'an old token',
      () =>
        provider.sign({ sub: 'ada', jti: '1', events, iat: Math.floor(Date.now() / 1000) - 3600 }),
    ],
    ['rubbish', async () => 'x.y.z'],
  ])('by the back channel with %s ends nothing', async (_, token) => {
    const browser = await signedIn('ada');
    expect((await logout(await token())).status).toBe(400);
    expect((await browser.console('/me')).status).toBe(200);
  });
});

it('reads groups again, and ends the session of a person whom the provider let go', async () => {
  await app.post('/members/set', { scope: 'acme/*', role: 'reader', group: 'eng' });
  await app.post('/members/set', { scope: 'acme/a', role: 'writer', group: 'late' });
  const browser = await signedIn('bob');
  const { person, grants } = await me(browser);
  expect(grants).toEqual([{ role: 'reader', scopes: ['acme/*'] }]);
  provider.accounts['bob']!['groups'] = ['eng', 'late'];
  const isLate = `UPDATE console_sessions SET checked_at = now() - interval '1 hour' WHERE user_id = $1`;
  const task = app.app
    .get(await schedule())
    .works.find(({ name }: any) => name === 'groups of people');
  await app.query(isLate, [person.id]);
  task.wake();
  await eventually(async () =>
    expect((await me(browser)).grants).toContainEqual({ role: 'writer', scopes: ['acme/a'] }),
  );
  provider.instead.set('/token', (_, response) => {
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"error":"invalid_grant"}');
  });
  await app.query(isLate, [person.id]);
  task.wake();
  await eventually(async () => expect((await browser.console('/me')).status).toBe(401));
});

const schedule = async (): Promise<any> =>
  (await import('../../src/platform/database/schedule.js')).Schedule;

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let i = 0; ; i++)
    try {
      return await check();
    } catch (error) {
      if (i >= 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
}

/** @jest-environment-options {"isApart": true} */
// the process counts failed attempts by address, and other suites use the same address
import { get, type IncomingMessage } from 'node:http';
import { newLoginCode } from '../../src/platform/auth/sessions/sessions.service.js';
import { Database } from '../../src/platform/database/database.js';
import { basic, send, startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { run } from '../support/server.js';
import { until } from '../support/until.js';

const CONSOLE = { 'x-skein-console': '1' };

describe('the console', () => {
  let app: TestApp;
  let addresses = 0;
  beforeAll(async () => {
    app = await startApp();
    app.app.set('trust proxy', true); // each request has an address of its own, since failed attempts of one are limited
  });
  afterAll(() => app.close());

  const login = (authorization: string, headers: Record<string, string> = CONSOLE) =>
    send(`${app.url}/console/login`, undefined, {
      authorization,
      'x-forwarded-for': `10.1.0.${++addresses}`,
      ...headers,
    });
  const cookieName = () => `skein_session_${new URL(app.url).port}`;
  const cookieOf = ({ headers }: { headers: Headers }) => headers.get('set-cookie')!.split(';')[0]!;
  const sessionOf = async (key: string) => cookieOf(await login(`Bearer ${key}`));
  const ask = (path: string, cookie: string, body?: unknown, headers = {}) =>
    send(
      app.url + path,
      body,
      { ...CONSOLE, cookie, ...headers },
      body === undefined ? 'GET' : 'POST',
    );
  const me = (cookie: string) => ask('/me', cookie);

  /** Requests a page without following redirects. */
  const page = (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get(app.url + path, { headers: { accept: 'text/html', ...headers } }, (response) => {
        response.resume();
        resolve(response);
      }).on('error', reject);
    });

  describe('its files', () => {
    it('are where a browser is sent from /, and a program is not', async () => {
      const response = await page('/');
      expect([response.statusCode, response.headers.location]).toEqual([302, '/console/']);
      expect((await page('/', { accept: 'application/json' })).statusCode).toBe(404);
      expect((await page('/console')).headers.location).toBe('/console/');
    });

    it.each(['/console/', '/console/p/acme/demo/traces', '/console/a.b'])(
      '%s is the page, under a policy that lets nothing inline run',
      async (path) => {
        const { statusCode, headers } = await page(path);
        expect(statusCode).toBe(200);
        expect(headers['content-type']).toMatch('text/html');
        expect(headers['cache-control']).toBe('no-cache');
        const policy = headers['content-security-policy']!;
        expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self';/);
        expect(policy).toMatch(/frame-ancestors 'none'/);
        expect(policy).not.toMatch(/unsafe|\*|https?:/);
      },
    );

    it('come gzipped to those who take that, and are kept for ever', async () => {
      const html = await (await fetch(`${app.url}/console/`)).text();
      const [, script] = /<script[^>]+src="([^"]+)"/.exec(html)!;
      expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style="|\son\w+=/);
      const zipped = await page(script!, { 'accept-encoding': 'gzip' });
      expect(zipped.headers).toMatchObject({
        'content-encoding': 'gzip',
        'content-type': expect.stringMatching('javascript'),
        'cache-control': 'public, max-age=31536000, immutable',
        vary: expect.stringMatching('Accept-Encoding'),
      });
      expect((await page(script!)).headers['content-encoding']).toBeUndefined();
    });

    it.each(['/console/assets/none.js', '/console/../package.json', '/console/%2e%2e/src/main.js'])(
      '%s is no file of it',
      async (path) => {
        const { statusCode, headers } = await page(path);
        expect([statusCode, headers['content-type']]).not.toEqual([
          200,
          expect.not.stringMatching('html'),
        ]);
        expect(path.includes('assets') ? statusCode : 404).toBe(404);
      },
    );
  });

  describe('a session', () => {
    it('has a cookie that no script sees and no other site sends', async () => {
      const { status, headers } = await login(`Bearer ${app.key}`);
      expect(status).toBe(200);
      const [cookie, ...attributes] = headers.get('set-cookie')!.split('; ');
      expect(cookie).toMatch(new RegExp(`^${cookieName()}=[\\w-]{43}$`));
      expect(attributes.filter((text) => !text.startsWith('Expires'))).toEqual([
        'Max-Age=43200',
        'Path=/',
        'HttpOnly',
        'SameSite=Strict',
      ]);
      const behindTls = await login(`Bearer ${app.key}`, {
        ...CONSOLE,
        'x-forwarded-proto': 'https',
      });
      expect(behindTls.headers.get('set-cookie')).toMatch('; Secure;');
    });

    it('is its key, for operations of either scheme', async () => {
      const cookie = await sessionOf(await app.aKey('reader', ['acme/demo'], 'grace'));
      expect((await me(cookie)).body).toMatchObject({
        user: 'grace',
        role: 'reader',
        expires_at: null,
      });
      expect((await ask('/v1/preview/models', cookie)).status).toBe(200);
      const project_id = 'acme/demo';
      expect((await ask('/calls/query', cookie, { project_id })).status).toBe(200);
      expect((await ask('/calls/query', cookie, { project_id: 'acme/other' })).status).toBe(403);
      expect((await ask('/call/start', cookie, { start: aStart() })).status).toBe(403);
    });

    it('writes in the name of its key', async () => {
      const cookie = await sessionOf(await app.aKey('writer', ['*'], 'mary'));
      const { body } = await ask('/call/start', cookie, { start: aStart({ id: 'by session' }) });
      expect(body.id).toBe('by session');
      const { call } = (await app.post('/call/read', { project_id: 'acme/demo', id: body.id }))
        .body;
      expect(call.svc_user_id).toBe('mary');
    });

    it('counts for nothing without the header, and its challenge makes no browser ask for a password', async () => {
      const cookie = await sessionOf(app.key);
      const without = await send(`${app.url}/me`, undefined, { cookie }, 'GET');
      expect(without.status).toBe(401);
      const ended = await me(`${cookieName()}=${'a'.repeat(43)}`);
      expect(ended.status).toBe(401);
      expect(ended.headers.get('www-authenticate')).toBe('Session realm="skein"');
    });

    it('is no key: neither as a password nor as a token', async () => {
      const token = (await sessionOf(app.key)).split('=')[1]!;
      const asked = [basic(token), `Bearer ${token}`].map((authorization) =>
        send(`${app.url}/me`, undefined, { authorization }, 'GET'),
      );
      for (const answer of asked) expect((await answer).status).toBe(401);
      expect((await me(`${cookieName()}=${app.key}aaa`)).status).toBe(401);
    });

    it('ends with its key, whichever process revoked it', async () => {
      const { body } = await app.post('/keys/create', { user: 'a', role: 'reader', scopes: ['*'] });
      const cookie = await sessionOf(body.secret);
      expect((await me(cookie)).status).toBe(200);
      await app.post('/keys/revoke', { id: body.id });
      expect((await me(cookie)).status).toBe(401);
    });

    it('ends by logging out, for that one alone', async () => {
      const [one, other] = [await sessionOf(app.key), await sessionOf(app.key)];
      const answer = await ask('/console/logout', one, '');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('set-cookie')).toMatch(
        new RegExp(`^${cookieName()}=; .*Expires=Thu, 01 Jan 1970`),
      );
      expect([(await me(one)).status, (await me(other)).status]).toEqual([401, 200]);
    });

    it('is one of 100 of its key, the oldest of which ends', async () => {
      const key = await app.aKey('reader');
      const first = await sessionOf(key);
      for (let i = 0; i < 9; i++)
        await Promise.all(Array.from({ length: 11 }, () => sessionOf(key)));
      expect((await me(first)).status).toBe(200);
      const { id } = (await me(first)).body;
      const last = await sessionOf(key);
      expect((await me(last)).status).toBe(200);
      const left = `SELECT FROM console_sessions WHERE api_key_id = $1`;
      expect((await app.query(left, [id])).length).toBe(100);
      await until(async () => (await me(first)).status === 401); // the session stays in the cache for some time
    });

    it('ends after 12 hours, and is stored as a hash only', async () => {
      const cookie = await sessionOf(app.key);
      const stored = `SELECT encode(token_hash, 'escape') AS hash, extract(epoch FROM expires_at - now()) AS left
        FROM console_sessions WHERE token_hash = sha256($1)`;
      const token = cookie.split('=')[1]!;
      const [row] = await app.query(stored, [Buffer.from(token)]);
      expect(Number(row.left)).toBeCloseTo(12 * 3600, -2);
      expect(row.hash).not.toContain(token);
      await app.query(
        `UPDATE console_sessions SET expires_at = now() WHERE token_hash = sha256($1)`,
        [Buffer.from(token)],
      );
      expect((await me(cookie)).status).toBe(401);
    });

    it('keeps the answer that holds a secret so that only the session can read it', async () => {
      const cookie = await sessionOf(app.key);
      const body = { user: 'b', role: 'reader', scopes: ['acme/demo'] };
      const make = () => ask('/keys/create', cookie, body, { 'idempotency-key': 'of a session' });
      const first = await make();
      expect(first.body.secret).toMatch(/^skn_/);
      expect((await make()).body).toEqual(first.body);
      const kept = await app.query(`SELECT response::text FROM idempotency_keys`);
      expect(JSON.stringify(kept)).not.toContain(first.body.secret);
    });

    it('does not read the answer with a secret that another session of the key was given', async () => {
      const [one, other] = [await sessionOf(app.key), await sessionOf(app.key)];
      const body = { user: 'b', role: 'reader', scopes: ['acme/demo'] };
      const make = (cookie: string) =>
        ask('/keys/create', cookie, body, { 'idempotency-key': 'of two sessions' });
      expect((await make(one)).status).toBe(200);
      expect(await make(other)).toMatchObject({
        status: 409,
        body: { code: 'conflict', detail: expect.stringContaining('another credential') },
      });
    });

    it.each([
      ['an unknown key', () => `Bearer skn_${'a'.repeat(36)}`, 401],
      ['a key that is none', () => 'Bearer x', 401],
      ['another scheme', () => basic(app.key), 401],
      ['a code that is none', () => 'Code x', 401],
      ['an unknown code', () => `Code ${'a'.repeat(43)}`, 401],
    ])('is not begun with %s', async (_, authorization, status) => {
      const answer = await login(authorization());
      expect(answer).toMatchObject({ status, body: { code: 'unauthenticated' } });
      expect(answer.headers.get('set-cookie')).toBeNull();
    });

    it('is not begun by a page of another site, or with the key of a trainer', async () => {
      expect((await login(`Bearer ${app.key}`, {})).status).toBe(401);
      expect((await login(`Bearer ${await app.aKey('trainer')}`)).status).toBe(403);
    });

    const OPERATOR = { keyId: null, userName: 'operator' };

    it('is Secure where the page came by TLS, also behind a proxy that nobody named', async () => {
      const origin = `https://skein.example.com`;
      const plain = await login(`Bearer ${app.key}`);
      const proxied = await login(`Bearer ${app.key}`, { ...CONSOLE, origin });
      expect(plain.headers.get('set-cookie')).not.toContain('Secure');
      expect(proxied.headers.get('set-cookie')).toContain('; Secure');
    });

    it('is begun by the link that the command prints for PUBLIC_URL', async () => {
      const env = { DATABASE_URL: app.databaseUrl, PUBLIC_URL: 'https://skein.example.com' };
      const command = run('server/commands/keys.cli.js', env, ['login']);
      expect(await command.exit).toBe(0);
      const link = /^https:\/\/skein\.example\.com\/console\/#code=(\S+)$/m;
      const [, code] = link.exec(command.output()) ?? [];
      expect((await login(`Code ${code}`)).status).toBe(200);
    });

    it('is begun by a login code once, within its time, while its key lives', async () => {
      const database = app.app.get(Database);
      const code = (await newLoginCode(database, OPERATOR))!;
      const both = await Promise.all([login(`Code ${code}`), login(`Code ${code}`)]);
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 401]);
      expect((await me(cookieOf(both.find(({ status }) => status === 200)!))).body.role).toBe(
        'admin',
      );
      expect((await me(`${cookieName()}=${await newLoginCode(database, OPERATOR)}`)).status).toBe(
        401,
      );

      const late = await newLoginCode(database, OPERATOR);
      await app.query(`UPDATE console_sessions SET expires_at = now() WHERE is_code`);
      expect((await login(`Code ${late}`)).status).toBe(401);
    });

    it('is tried so often from an address, by codes as by keys', async () => {
      const from = { ...CONSOLE, 'x-forwarded-for': '10.2.0.1' };
      const statuses: number[] = [];
      for (let i = 0; i < 21; i++) statuses.push((await login('Code x', from)).status);
      expect([statuses[0], statuses[20]]).toEqual([401, 429]);
    });

    it('is begun by a good code also from an address that has guessed too often', async () => {
      const from = { ...CONSOLE, 'x-forwarded-for': '10.2.0.2' };
      const guess = () => login(`Code ${'g'.repeat(43)}`, from);
      const guesses = await Promise.all(Array.from({ length: 30 }, guess));
      expect(guesses.map(({ status }) => status)).toContain(429);
      const code = (await newLoginCode(app.app.get(Database), OPERATOR))!;
      expect((await login(`Code ${code}`, from)).status).toBe(200);
    });
  });
});

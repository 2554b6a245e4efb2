import { startApp, type TestApp } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { Browser, startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';
import { until } from '../support/until.js';

const ACCOUNTS = { ada: { email: 'ada@example.com', email_verified: true } };
const failed = (reason: string) => new RegExp(`/console/#sign-in-failed=${reason}&reference=`);

/** Starts an app with providers. */
async function start(env: (publicUrl: string) => Promise<Record<string, string>>) {
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  const app = await startApp({ PUBLIC_URL: publicUrl, ...(await env(publicUrl)) });
  return { app, publicUrl };
}

const readiness = async (app: TestApp) => (await (await fetch(`${app.url}/ready`)).json()) as any;

describe('a provider that is away', () => {
  it('keeps nobody from starting and ingesting; the log and /ready tell, and it is found when it is back', async () => {
    let provider!: TestProvider;
    const { app, publicUrl } = await start(async (url) => {
      provider = await startProvider({ publicUrl: url, accounts: ACCOUNTS });
      provider.instead.set('/.well-known/openid-configuration', (_, response) =>
        response.destroy(),
      );
      return { ...provider.settings(), OIDC_ADMINS: 'ada@example.com' };
    });
    const { url } = await new Browser(publicUrl).follow(`${publicUrl}/auth/0/sign-in`);
    expect(url).toMatch(failed('provider_unavailable'));
    expect(await readiness(app)).toMatchObject({
      database: 'reachable',
      sign_in: { [provider.issuer]: false },
    });
    const call = { start: aStart({ project_id: 'acme/demo' }) };
    expect((await app.post('/call/start', call)).status).toBe(200);
    provider.instead.clear();
    await until(async () => {
      const back = await new Browser(publicUrl).follow(`${publicUrl}/auth/0/sign-in`);
      return back.response?.status === 200;
    });
    expect(await new Browser(publicUrl).signIn('ada')).toBe(`${publicUrl}/console/`);
    expect(await readiness(app)).toMatchObject({ sign_in: { [provider.issuer]: true } });
    await app.close();
    await provider.close();
  });

  it('and one that says to be another, or answers slowly, lets nobody in', async () => {
    let provider!: TestProvider;
    const { app, publicUrl } = await start(async (url) => {
      provider = await startProvider({ publicUrl: url, accounts: ACCOUNTS });
      provider.instead.set('/.well-known/openid-configuration', (_, response) => {
        const document = { issuer: 'https://evil.example', jwks_uri: 'https://evil.example/jwks' };
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(document));
      });
      return { ...provider.settings(), OIDC_ADMINS: 'ada@example.com' };
    });
    const { url } = await new Browser(publicUrl).follow(`${publicUrl}/auth/0/sign-in`);
    expect(url).toMatch(failed('provider_unavailable'));
    provider.instead.clear();
    await until(async () => {
      const back = await new Browser(publicUrl).follow(`${publicUrl}/auth/0/sign-in`);
      return back.response?.status === 200;
    });
    const browser = new Browser(publicUrl);
    const callback = await browser.signIn('ada', { until: /\/auth\/0\/callback/ });
    provider.instead.set('/token', () => {}); // this endpoint never answers
    const began = performance.now();
    expect((await browser.follow(callback)).url).toMatch(failed('provider_unavailable'));
    expect(performance.now() - began).toBeLessThan(15_000);
    await app.close();
    await provider.close();
  });
});

it('two providers know different people, and neither answers for the other', async () => {
  const providers: TestProvider[] = [];
  const { app, publicUrl } = await start(async (url) => {
    for (const number of [0, 1])
      providers.push(await startProvider({ publicUrl: url, number, accounts: ACCOUNTS }));
    return {
      ...providers[0]!.settings(),
      ...providers[1]!.settings('OIDC_1_'),
      OIDC_ADMINS: 'ada@example.com',
      CONSOLE_KEY_SIGN_IN: 'false',
    };
  });
  const [first, second] = providers as [TestProvider, TestProvider];
  const browser = new Browser(publicUrl);
  expect(await browser.signIn('ada')).toBe(`${publicUrl}/console/`);
  // the same e-mail address at the other provider gives no admin role
  expect(await new Browser(publicUrl).signIn('ada', { number: 1 })).toMatch(failed('no_role'));
  const member = { scope: 'acme/a', role: 'reader', email: 'ada@example.com' };
  expect((await app.post('/members/set', member)).status).toBe(400);
  const given = await app.post('/members/set', { ...member, issuer: second.issuer });
  expect(given.body).toMatchObject({ issuer: second.issuer, email: 'ada@example.com' });
  const other = new Browser(publicUrl);
  expect(await other.signIn('ada', { number: 1 })).toBe(`${publicUrl}/console/`);
  const me = (await (await other.console('/me')).json()) as any;
  expect(me).toMatchObject({ grants: [{ role: 'reader', scopes: ['acme/a'] }] });
  // an authorization code of one provider, sent to the callback of the other
  const mixed = new Browser(publicUrl);
  const callback = await mixed.signIn('ada', { until: /\/auth\/0\/callback/ });
  const { url } = await mixed.follow(callback.replace('/auth/0/', '/auth/1/'));
  expect(url).toMatch(failed('expired'));
  // a logout token of one provider ends no session of the other
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const token = await first.sign({ sub: 'ada', jti: '1', events });
  const body = new URLSearchParams({ logout_token: token });
  const logout = (number: number) =>
    fetch(`${app.url}/auth/${number}/back-channel-logout`, { method: 'POST', body });
  expect((await logout(1)).status).toBe(400);
  expect((await logout(0)).status).toBe(200);
  expect((await other.console('/me')).status).toBe(200);
  expect((await browser.console('/me')).status).toBe(401);
  // with CONSOLE_KEY_SIGN_IN=false the console accepts no key
  const login = await fetch(`${app.url}/console/login`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.key}`, 'x-skein-console': '1' },
  });
  expect(login.status).toBe(403);
  await app.close();
  await first.close();
  await second.close();
});

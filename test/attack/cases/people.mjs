// Attacks on the sign-in of people and workloads.
import { generateKeyPair, exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { aStart, many } from '../client.mjs';
import { Browser } from '../provider.mjs';

const CALLBACK = /\/auth\/\d\/callback/;

const aBrowser = (it) => new Browser(it.service.provider.publicUrl);

/** Signs in up to the callback address, but does not open it. */
const upToCallback = (browser, login = 'ada') => browser.signIn(login, { until: CALLBACK });

function attemptOf(browser) {
  const [, value] = [...browser.cookies].find(([name]) => name.startsWith('skein_sign_in'));
  return JSON.parse(Buffer.from(value, 'base64url').toString());
}

export const cases = [
  {
    name: 'people: a code that is replayed, stolen, or brought to another provider',
    isQuick: true,
    async attack(it) {
      const victim = aBrowser(it);
      const callback = await upToCallback(victim);
      const copied = aBrowser(it);
      for (const [name, value] of victim.cookies) copied.cookies.set(name, value);
      const thief = aBrowser(it);
      await thief.follow(callback); // this browser has no sign-in attempt
      await thief.request(`${thief.publicUrl}/auth/0/sign-in`);
      await thief.follow(callback.replace(/state=[^&]+/, `state=${attemptOf(thief).state}`));
      it.must(!thief.isSignedIn, 'a stolen code let another browser in');
      const other = aBrowser(it);
      const mixed = await upToCallback(other);
      await other.follow(mixed.replace('/auth/0/', '/auth/1/'));
      it.must(!other.isSignedIn, 'the answer of one provider was taken for that of another');
      const lying = aBrowser(it);
      const named = await upToCallback(lying);
      await lying.follow(named.replace(/iss=[^&]+/, 'iss=http%3A%2F%2F127.0.0.1%3A9'));
      it.must(!lying.isSignedIn, 'an answer that names another issuer was taken');
      const own = await upToCallback(victim); // the earlier callback may be used up
      for (const [name, value] of victim.cookies) copied.cookies.set(name, value);
      await victim.follow(own);
      it.must(victim.isSignedIn, 'the person herself was not let in');
      await copied.follow(own);
      it.must(!copied.isSignedIn, 'a replayed code was taken');
    },
  },
  {
    name: 'people: a session that is planted before the sign-in',
    isQuick: true,
    async attack(it) {
      const victim = aBrowser(it);
      const { port } = new URL(victim.publicUrl);
      const planted = 'p'.repeat(43);
      victim.cookies.set(`skein_session_${port}`, planted);
      await victim.signIn('ada');
      it.must(victim.cookies.get(`skein_session_${port}`) !== planted, 'the token is as it was');
      const thief = await fetch(`${victim.publicUrl}/me`, {
        headers: { cookie: `skein_session_${port}=${planted}`, 'x-skein-console': '1' },
      });
      it.count(thief.status);
      // 429 when earlier cases have used up the attempts of the address
      it.must(
        thief.status === 401 || thief.status === 429,
        `the planted session was answered ${thief.status}`,
      );
      const page = await fetch(`${victim.publicUrl}/me`, {
        headers: { cookie: `skein_session_${port}=${victim.cookies.get(`skein_session_${port}`)}` },
      });
      it.must(page.status === 401, 'a page of another origin used the session');
    },
    answers: [401, 429],
  },
  {
    name: 'people: addresses and groups that look like those of an admin',
    isQuick: true,
    async attack(it) {
      for (const login of ['mallory', 'unverified', 'cyrillic']) {
        const browser = aBrowser(it);
        const at = await browser.signIn(login);
        it.must(!browser.isSignedIn && at.includes('no_role'), `${login} got in: ${at}`);
      }
      const ada = aBrowser(it);
      await ada.signIn('ada');
      it.must(ada.isSignedIn, 'the admin herself was not let in');
    },
  },
  {
    name: 'people: places to come back to that are elsewhere',
    isQuick: true,
    async attack(it) {
      for (const to of [
        'https://evil.example',
        '//evil.example/console/',
        '/\\evil.example/console/',
        '/console/..//evil.example',
        '/console/%2e%2e//evil.example',
        '/console/\t//evil.example',
        'javascript:alert(1)//console/',
      ]) {
        const browser = aBrowser(it);
        const { origin, pathname } = new URL(await browser.signIn('ada', { to }));
        const isHere = origin === browser.publicUrl && pathname.startsWith('/console/');
        it.must(isHere, `${to} led to ${origin}${pathname}`);
      }
    },
  },
  {
    name: 'people: 1,000 sign-ins that are begun, and ways back with made-up codes',
    isQuick: true,
    async attack(it) {
      const { publicUrl } = it.service.provider;
      const before = await it.service.asAdmin('/users/list', {});
      await many(1000, 20, async (i) => {
        const browser = new Browser(publicUrl);
        it.count((await browser.request(`${publicUrl}/auth/0/sign-in?to=/console/${i}`)).status);
        const { state } = attemptOf(browser);
        const back = `${publicUrl}/auth/0/callback?code=made-up&state=${state}`;
        it.count((await browser.request(back)).status);
        it.must(!browser.isSignedIn, 'a made-up code let somebody in');
      });
      const after = await it.service.asAdmin('/users/list', {});
      it.must(after.users.length === before.users.length, 'they left people behind');
    },
    answers: [302],
  },
  {
    name: 'people: tokens of workloads that nobody has signed, or somebody else, or for somebody else',
    isQuick: true,
    async attack(it) {
      const { provider } = it.service;
      const { privateKey, publicKey } = await generateKeyPair('RS256');
      const secret = Buffer.from(JSON.stringify(provider.publicJwk));
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: provider.issuer, aud: 'workload', sub: 'ci', repo: 'acme/app' };
      const unsigned = new UnsecuredJWT(claims).setIssuedAt().setExpirationTime('5 min').encode();
      const tokens = [
        unsigned,
        `${unsigned}AA`,
        await new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'attack' })
          .setIssuedAt()
          .setExpirationTime('5 min')
          .sign(secret),
        await provider.sign({}, {}, privateKey),
        await provider.sign({}, { jwk: await exportJWK(publicKey) }, privateKey),
        await provider.sign({}, { jku: 'http://127.0.0.1:9/jwks', kid: 'x' }, privateKey),
        await provider.sign({}, { kid: '../../etc/passwd' }, privateKey),
        await provider.sign({ aud: 'skein' }),
        await provider.sign({ aud: ['skein', 'work'] }),
        await provider.sign({ iss: 'http://127.0.0.1:9' }),
        await provider.sign({ repo: ['acme/apps'] }),
        await provider.sign({ repo: { toString: 'acme/app' } }),
        await provider.sign({ iat: now - 7200, exp: now - 3600 }),
        await provider.sign({ iat: now - 172_800 }),
        await provider.sign({ sub: 'x'.repeat(300) }),
      ];
      const ask = (token) =>
        fetch(`${it.service.url}/me`, { headers: { authorization: `Bearer ${token}` } });
      const good = await provider.sign({});
      it.must((await ask(good)).status === 200, 'a good token was refused');
      for (const [at, token] of tokens.entries()) {
        const { status } = await ask(token);
        it.count(status);
        it.must(status === 401 || status === 429, `token ${at} was answered ${status}`);
      }
      await many(1000, 20, async () => it.count((await ask(tokens[3])).status));
      it.must((await ask(good)).status === 200, 'a good token behind them was refused');
      const start = aStart({ project_id: 'other/x' });
      const body = JSON.stringify({ resourceSpans: [], start });
      const elsewhere = await fetch(`${it.service.url}/otel/v1/traces`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${good}`,
          project_id: 'other/x',
          'content-type': 'application/json',
        },
        body,
      });
      it.must(elsewhere.status === 403, `a token wrote elsewhere: ${elsewhere.status}`);
    },
    answers: [401, 429],
  },
];

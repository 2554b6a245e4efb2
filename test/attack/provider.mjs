// A provider of OpenID Connect for the attacks, and a browser that knows redirects, cookies and forms only.
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const SECRET = 'a client secret of the attacks';
/** Claims of each account, keyed by subject. `ada` is an admin; `mallory` tries to become one. */
const ACCOUNTS = {
  ada: { email: 'Ada@example.com', email_verified: true },
  // the Kelvin sign, which becomes a k in lower case
  mallory: { email: '\u212Aim@example.com', email_verified: true, groups: ['a,admins', ' admins'] },
  unverified: { email: 'ada@example.com', email_verified: false },
  cyrillic: { email: '\u0430da@example.com', email_verified: true },
};

export class SignInProvider {
  static async open() {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'attack', alg: 'RS256', use: 'sig' };
    const provider = new SignInProvider(privateKey, jwk, (await import('oidc-provider')).Provider);
    await new Promise((resolve) =>
      provider.server.listen(0, '127.0.0.1', () => resolve(undefined)),
    );
    const { port } = /** @type {import('node:net').AddressInfo} */ (provider.server.address());
    provider.issuer = `http://127.0.0.1:${port}`;
    return provider;
  }

  issuer = '';
  handle = /** @type {any} */ (undefined);
  server = createServer((request, response) => this.handle(request, response));

  constructor(key, jwk, library) {
    this.key = key;
    this.jwk = jwk;
    this.library = library;
  }

  /** Accepts sign-ins for the service at this address. */
  serve(publicUrl) {
    this.publicUrl = publicUrl;
    const provider = new this.library(this.issuer, {
      jwks: { keys: [this.jwk] },
      cookies: { keys: ['a key of the attacks'] },
      clients: [
        {
          client_id: 'skein',
          client_secret: SECRET,
          redirect_uris: [0, 1].map((number) => `${publicUrl}/auth/${number}/callback`),
          response_types: ['code'],
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
      features: { devInteractions: { enabled: true } },
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ sub: accountId, ...ACCOUNTS[accountId] }),
      }),
      ttl: { Session: 600, Grant: 600, AccessToken: 600, IdToken: 600, Interaction: 600 },
    });
    this.handle = provider.callback();
  }

  /** Settings of the service for this provider. Nothing listens at the second provider's address. */
  get settings() {
    return {
      PUBLIC_URL: this.publicUrl,
      OIDC_ISSUER: this.issuer,
      OIDC_CLIENT_ID: 'skein',
      OIDC_CLIENT_SECRET: SECRET,
      OIDC_ADMINS: '["ada@example.com","kim@example.com","admins"]',
      OIDC_1_ISSUER: 'http://127.0.0.1:9',
      OIDC_1_CLIENT_ID: 'skein',
      JWT_ISSUERS: JSON.stringify([
        {
          issuer: this.issuer,
          audience: 'workload',
          jwks_uri: `${this.issuer}/jwks`,
          claims: { repo: 'acme/app' },
          role: 'writer',
          scopes: ['acme/*'],
        },
      ]),
    };
  }

  /** Returns a token signed by the provider, or with another `key`. */
  sign(claims, header = {}, key = this.key) {
    return new SignJWT({
      iss: this.issuer,
      aud: 'workload',
      sub: 'ci',
      repo: 'acme/app',
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'attack', ...header })
      .setIssuedAt(claims.iat)
      .setExpirationTime(claims.exp ?? '5 min')
      .sign(key);
  }

  get publicJwk() {
    const { kty, n, e, kid, alg, use } = this.jwk;
    return { kty, n, e, kid, alg, use };
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export class Browser {
  /** @type {Map<string, string>} */
  cookies = new Map();

  constructor(publicUrl) {
    this.publicUrl = publicUrl;
  }

  async request(url, init = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie && { cookie }), ...init.headers };
    const response = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  /** Follows redirects to a page. Stops before an address that `until` matches. */
  async follow(url, until = /\/console\//, init = {}) {
    let response = await this.request(url, init);
    for (let at = url; ; response = await this.request(at)) {
      const location = response.headers.get('location');
      if (location === null) return { at, html: await response.text() };
      at = new URL(location, at).href;
      if (until.test(at)) return { at, html: undefined };
    }
  }

  /** Signs in at the provider. Returns the last address. */
  async signIn(login, { to = '/console/', until = /\/console\// } = {}) {
    const begin = `${this.publicUrl}/auth/0/sign-in?to=${encodeURIComponent(to)}`;
    let page = await this.follow(begin, until);
    while (page.html !== undefined) {
      const action = /<form[^>]*action="([^"]+)"/.exec(page.html)[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(page.html)[1];
      const body = new URLSearchParams({ prompt, login, password: 'x' });
      page = await this.follow(new URL(action, page.at).href, until, { method: 'POST', body });
    }
    return page.at;
  }

  get isSignedIn() {
    return [...this.cookies.keys()].some((name) => name.startsWith('skein_session'));
  }
}

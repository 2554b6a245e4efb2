import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

/** Claims of a person, besides the subject. */
type Account = Record<string, unknown>;

type Signer = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

const SECRET = 'a client secret of the tests';

/** Silences the library's warnings that its setup is not for production. */
function quiet(): void {
  for (const level of ['warn', 'info'] as const)
    jest.spyOn(console, level).mockImplementation(() => {});
}

interface Options {
  /** The URL of the service, and the provider's number in the service's settings. */
  publicUrl: string;
  number?: number;
  /** Claims keyed by subject. */
  accounts: Record<string, Account>;
}

export type TestProvider = Awaited<ReturnType<typeof startProvider>>;

/** Starts `oidc-provider`, a certified OpenID provider. Tests can replace its answers. */
export async function startProvider({ publicUrl, number = 0, accounts }: Options) {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};
  /** Handlers that answer instead of the provider, keyed by path. */
  const instead = new Map<string, typeof handle>();
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    const path = new URL(request.url!, 'http://here').pathname;
    void (instead.get(path) ?? handle)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let key: { jwk: JWK; sign: Signer };

  /** Starts the provider again with new keys and the same people. */
  async function rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const kid = `key-${Math.random()}`;
    key = {
      jwk: { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' },
      sign: privateKey,
    };
    quiet();
    const provider = new Provider(issuer, {
      jwks: { keys: [key.jwk as never] },
      cookies: { keys: ['a key of the tests'] },
      clients: [
        {
          client_id: 'skein',
          client_secret: SECRET,
          redirect_uris: [`${publicUrl}/auth/${number}/callback`],
          post_logout_redirect_uris: [`${publicUrl}/console/`],
          backchannel_logout_uri: `${publicUrl}/auth/${number}/back-channel-logout`,
          backchannel_logout_session_required: true,
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
      claims: {
        openid: ['sub', 'sid'],
        email: ['email', 'email_verified'],
        profile: ['name'],
        groups: ['groups'],
      },
      features: {
        devInteractions: { enabled: true },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { enabled: true },
      },
      findAccount: (_: unknown, accountId: string) =>
        accounts[accountId] && {
          accountId,
          claims: () => ({ sub: accountId, ...accounts[accountId] }),
        },
      // without this it issues one only to clients that request consent each time
      issueRefreshToken: () => true,
      // back-channel requests go to this machine
      fetch: (url: string | URL, options: RequestInit) =>
        fetch(url, Object.assign({}, options, { dispatcher: undefined })),
      ttl: {
        Session: 3600,
        Grant: 3600,
        AccessToken: 600,
        IdToken: 600,
        Interaction: 600,
        AuthorizationCode: 60,
        RefreshToken: 3600,
      },
    } as never);
    provider.on('server_error', (_, error) => console.error('provider', error));
    handle = provider.callback();
  }
  await rotate();

  return {
    issuer,
    instead,
    accounts,
    rotate,
    requests: () => requests,
    /** Settings of the service for this provider. */
    settings: (prefix = 'OIDC_'): Record<string, string> => ({
      [`${prefix}ISSUER`]: issuer,
      [`${prefix}CLIENT_ID`]: 'skein',
      [`${prefix}CLIENT_SECRET`]: SECRET,
      [`${prefix}SCOPES`]: 'openid profile email groups offline_access',
    }),
    /** Signs any token with the provider's key. */
    sign: (claims: JWTPayload, header: { typ?: string; kid?: string } = {}) =>
      new SignJWT({ iss: issuer, aud: 'skein', ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: key.jwk.kid!, ...header })
        .setIssuedAt(claims.iat)
        .setExpirationTime(claims.exp ?? '5 min')
        .sign(key.sign),
    publicKey: () => {
      const { d: _, p: __, q: ___, dp: ____, dq: _____, qi: ______, ...open } = key.jwk;
      return open;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A browser with redirects, forms and cookies. It follows redirects until one leads to the console. */
export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(private readonly publicUrl: string) {}

  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      const isGone = value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line);
      if (isGone) this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return response;
  }

  /** Follows redirects to a page, or to the first URL that matches `until`. */
  async follow(
    url: string,
    until = /\/console\//,
    init?: RequestInit,
  ): Promise<{ url: string; response?: Response }> {
    let [at, response] = [url, await this.request(url, init)];
    for (let hops = 0; hops < 20; hops++) {
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      at = new URL(location, at).href;
      if (until.test(at)) return { url: at };
      response = await this.request(at);
    }
    throw new Error('too many redirects');
  }

  /**
   * Signs in and gives consent. Returns the URL at which the browser stops, without requesting one that matches
   * `until`.
   */
  async signIn(
    subject: string,
    { to = '/console/', number = 0, until = /\/console\//, url = '' } = {},
  ): Promise<string> {
    const begin = url || `${this.publicUrl}/auth/${number}/sign-in?to=${encodeURIComponent(to)}`;
    let page = await this.follow(begin, until);
    for (let steps = 0; page.response && steps < 5; steps++) {
      const html = await page.response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
      if (!action)
        throw new Error(`no form at ${page.url}: ${page.response.status} ${html.slice(0, 500)}`);
      const prompt = /name="prompt" value="(\w+)"/.exec(html)![1]!;
      const body = new URLSearchParams({
        prompt,
        ...(prompt === 'login' && { login: subject, password: 'x' }),
      });
      page = await this.follow(new URL(action, page.url).href, until, { method: 'POST', body });
    }
    return page.url;
  }

  /** Sends a request as the console does. */
  console(path: string, body?: unknown): Promise<Response> {
    return this.request(this.publicUrl + path, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'x-skein-console': '1', 'content-type': 'application/json' },
    });
  }

  get sessionCookie(): string | undefined {
    return [...this.cookies].find(([name]) => name.startsWith('skein_session'))?.join('=');
  }
}

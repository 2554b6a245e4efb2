import { Inject, Injectable } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  type FetchImplementation,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { v5 as uuidv5 } from 'uuid';
import { CONFIG, type Config } from '../config/config.js';
import { isSafeUrl, type TokenIssuer } from '../config/sign-in-settings.js';
import { unavailable } from '../errors.js';
import { fetchExternal, EXTERNAL_SECONDS } from '../http/external-fetch.js';
import { Caller } from './caller.js';
import type { Grant } from './grants.js';

/** Signatures that only a private key can make. The service holds nothing that could sign, and `none` is excluded. */
export const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_TOLERANCE_SECONDS = 30;
/** Greatest age of a token. A token cannot be revoked, so an older one is refused even before it expires. */
const MAX_AGE = '24 h';
const MAX_LENGTH = 16 * 1024;
/** Time before an issuer that did not answer is requested again. */
const RETRY_MS = 5000;
const MAX_SUBJECT = 255;
/** Namespace of the ids that are derived from a workload's issuer and subject. */
const NAMESPACE = '0f5c4a2e-6a5e-4d0f-9b0e-1f5a3c1d7e42';

type Keys = ReturnType<typeof createRemoteJWKSet>;

/** Verifies signed tokens of the issuers in JWT_ISSUERS, so that CI and Kubernetes need no stored key. */
@Injectable()
export class WorkloadTokens {
  private readonly keys = new Map<string, Promise<Keys>>();

  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'tokenIssuers'>) {}

  /** Returns true when a text may be a signed token: it contains dots, which keys never do. */
  mayBe(text: string): boolean {
    return (
      this.config.tokenIssuers.length > 0 &&
      text.length <= MAX_LENGTH &&
      /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)
    );
  }

  /** @throws Error for a token that grants nothing; ApiError `unavailable` while its issuer cannot be reached */
  async verify(token: string, challenge: string): Promise<Caller> {
    const { iss } = decodeJwt(token);
    const issuers = this.config.tokenIssuers.filter(({ issuer }) => issuer === iss);
    if (issuers.length === 0) throw new Error('JWT_ISSUERS does not have the issuer of the token');
    const { payload } = await jwtVerify(token, await this.issuerKeys(issuers[0]!), {
      issuer: iss!,
      audience: issuers.map(({ audience }) => audience),
      algorithms: ASYMMETRIC,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      maxTokenAge: MAX_AGE,
      requiredClaims: ['sub', 'exp', 'iat'],
    });
    const grants = tokenGrants(payload, issuers);
    if (grants.length === 0) throw new Error('JWT_ISSUERS gives a token with these claims no role');
    const subject = payload.sub!;
    if (subject === '' || subject.length > MAX_SUBJECT || /\p{Cc}/u.test(subject))
      throw new Error(`the subject must have 1 to ${MAX_SUBJECT} characters, none of control`);
    const expiresAt = new Date(payload.exp! * 1000);
    return new Caller(
      {
        id: uuidv5(`${iss} ${subject}`, NAMESPACE),
        userName: `${new URL(iss!).host}#${subject}`,
        grants,
        expiresAt,
        by: 'token',
        person: null,
      },
      { challenge, grants: async () => (expiresAt.getTime() > Date.now() ? grants : null) },
    );
  }

  /** Finds the key URL of an issuer once. A failure is forgotten after a while, so that a later token tries again. */
  private issuerKeys({ issuer, jwksUri }: TokenIssuer): Promise<Keys> {
    let keys = this.keys.get(issuer);
    if (!keys) {
      keys = findKeys(issuer, jwksUri);
      this.keys.set(issuer, keys);
      keys.catch(() => this.waitForKeys(issuer));
    }
    return keys;
  }

  private waitForKeys(issuer: string): void {
    const none = Promise.reject<Keys>(issuerAway());
    none.catch(() => {}); // each token awaits the rejected promise
    this.keys.set(issuer, none);
    setTimeout(() => this.keys.delete(issuer), RETRY_MS).unref();
  }
}

/** Returns the roles of the entries whose audience and claims match the token. */
function tokenGrants(payload: JWTPayload, issuers: readonly TokenIssuer[]): Grant[] {
  const audiences = [payload.aud ?? []].flat();
  const has = (name: string, value: string) =>
    Object.hasOwn(payload, name) && [payload[name]].flat().includes(value);
  return issuers
    .filter(
      ({ audience, claims }) =>
        audiences.includes(audience) &&
        Object.entries(claims).every(([name, value]) => has(name, value)),
    )
    .map(({ role, scopes }) => ({ role, scopes }));
}

async function findKeys(issuer: string, jwksUri: string | undefined): Promise<Keys> {
  const url = jwksUri ?? (await discoverKeys(issuer));
  if (!isSafeUrl(url)) throw new Error(`the keys of ${issuer} are not at an https URL`);
  return keysAt(url);
}

/**
 * Returns the rotating keys of an issuer. An unknown key id reads them again, at most every 30 s, or 5 s after a
 * failure. Forged tokens therefore cannot make the service send more requests.
 */
export function keysAt(url: string): Keys {
  let retryAt = 0;
  const fetchKeys: FetchImplementation = async (...request) => {
    if (performance.now() < retryAt) throw issuerAway();
    try {
      const response = await fetchExternal(...request);
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      return response;
    } catch (error) {
      retryAt = performance.now() + RETRY_MS;
      throw issuerAway(error);
    }
  };
  const timeoutDuration = EXTERNAL_SECONDS * 1000;
  return createRemoteJWKSet(new URL(url), { timeoutDuration, [customFetch]: fetchKeys });
}

const issuerAway = (cause?: unknown) =>
  unavailable('the keys of the issuer of the token cannot be read now', cause);

async function discoverKeys(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const response = await fetchExternal(url, { redirect: 'error' });
    const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer === issuer && typeof document.jwks_uri === 'string')
      return document.jwks_uri;
    throw new Error(`${url} is not the discovery document of ${issuer}`);
  } catch (error) {
    throw issuerAway(error);
  }
}

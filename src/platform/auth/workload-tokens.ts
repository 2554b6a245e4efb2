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

/** Signatures by a private key alone: the service holds nothing that could sign, and `none` is none of them. */
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
/** A token cannot be taken back, so one that was made to last is refused. */
const MAX_AGE = '24 h';
const MAX_LENGTH = 16 * 1024;
/** An issuer that did not answer is not asked again for this time. */
const RETRY_MS = 5000;
const MAX_SUBJECT = 255;
/** Under which the ids of workloads are made of their issuer and subject. */
const NAMESPACE = '0f5c4a2e-6a5e-4d0f-9b0e-1f5a3c1d7e42';

type Keys = ReturnType<typeof createRemoteJWKSet>;

/** Signed tokens of the issuers in JWT_ISSUERS, by which CI and Kubernetes need no stored key. */
@Injectable()
export class WorkloadTokens {
  private readonly keys = new Map<string, Promise<Keys>>();

  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'tokenIssuers'>) {}

  /** Whether a text may be such a token: no key has a dot. */
  mayBe(text: string): boolean {
    return (
      this.config.tokenIssuers.length > 0 &&
      text.length <= MAX_LENGTH &&
      /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)
    );
  }

  /** @throws Error for a token that lets nobody in; ApiError `unavailable` while nobody can tell */
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

  /** Where the keys are is asked once; a failure is forgotten after a while, so that a later token asks again. */
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
    none.catch(() => {}); // each token asks it
    this.keys.set(issuer, none);
    setTimeout(() => this.keys.delete(issuer), RETRY_MS).unref();
  }
}

/** The roles of those entries whose audience and claims the token has. */
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
 * Keys of an issuer, which rotate: an unknown one makes them be read again, at most each 30 s, or 5 s after a failure: tokens
 * that anybody can make up do not make us ask an issuer more often.
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

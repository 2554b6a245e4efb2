import { Inject, Injectable } from '@nestjs/common';
import { jwtVerify } from 'jose';
import * as client from 'openid-client';
import { type Actor, addEvent, auditAction } from '../audit/add-event.js';
import type { ConsoleSession } from '../auth/sessions/console-session.entity.js';
import { grantsTo, isDomainAllowed, type Person, personName } from '../auth/grants.js';
import { KeysService } from '../auth/keys/keys.service.js';
import { ASYMMETRIC } from '../auth/workload-tokens.js';
import { seal } from '../auth/seal.js';
import { SessionsService } from '../auth/sessions/sessions.service.js';
import { CONFIG, type Config } from '../config/config.js';
import type { SignInProvider } from '../config/sign-in-settings.js';
import { Database } from '../database/database.js';
import { ApiError } from '../errors.js';
import { listCauses } from '../http/external-fetch.js';
import type { SignInAttempt } from './sign-in-attempt.js';
import { emailMembersClaim, personById, sessionsEnd, userSeen } from './people.query.js';
import { type Profile, readProfile } from './profile.js';
import { logger } from '../process/logger.js';
import {
  CLOCK_TOLERANCE_SECONDS,
  type DiscoveredProvider,
  ProvidersService,
} from './providers.service.js';

const SIGN_IN = auditAction('people.sign_in');
const SIGN_OUT = auditAction('people.sign_out');

/** Reasons for a refused sign-in, which the console explains. */
export type SignInFailureReason =
  | 'expired'
  | 'denied'
  | 'provider_unavailable'
  | 'not_valid'
  | 'domain'
  | 'deactivated'
  | 'no_role'
  | 'too_many'
  | 'unavailable';

/** Ends a sign-in that granted nothing. Only the log contains the cause. */
export class SignInFailure extends Error {
  constructor(
    readonly reason: SignInFailureReason,
    cause?: unknown,
  ) {
    super(`not signed in: ${reason}`, { cause });
  }
}

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Greatest age of a logout token. Providers send it at once. */
const LOGOUT_TOKEN_AGE = '5 min';

/**
 * Signs people in with OpenID Connect: the authorization code flow with PKCE, state and nonce, by `openid-client`. The
 * signature of the ID token is checked too, although it comes from the provider directly.
 */
@Injectable()
export class SignInService {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly providers: ProvidersService,
    private readonly sessions: SessionsService,
  ) {}

  /**
   * Returns the provider's URL at which a sign-in continues, and the attempt.
   * @throws SignInFailure
   */
  async begin(
    provider: SignInProvider,
    to: string,
  ): Promise<{ url: string; attempt: SignInAttempt }> {
    const configuration = await this.configuration(provider);
    const attempt = {
      provider: provider.number,
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      to,
      at: Date.now(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.providers.address(provider, 'callback'),
      scope: provider.scopes,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, attempt };
  }

  /**
   * Exchanges the code that a browser brings from the provider, and begins a session.
   * @throws SignInFailure
   */
  async finish(provider: SignInProvider, attempt: SignInAttempt, search: string): Promise<string> {
    if (attempt.provider !== provider.number) throw new SignInFailure('expired');
    const configuration = await this.configuration(provider);
    const tokens = await this.tokens(provider, configuration, attempt, search);
    const idToken = tokens.claims()!;
    const profile = await readClaims(provider, configuration, tokens);
    if (!isDomainAllowed(profile, provider.allowedDomains)) throw new SignInFailure('domain');
    const person = await this.seen(profile);
    if (!person.isActive) throw new SignInFailure('deactivated');
    const grants = grantsTo(person, this.config.signInProviders);
    if (grants.length === 0) throw new SignInFailure('no_role');
    const { clientSecret } = provider;
    const sid = idToken['sid'];
    return this.database.transaction(async () => {
      const by = actor(person);
      const scopes = grants.flatMap((grant) => grant.scopes);
      const detail = { issuer: person.issuer };
      await addEvent(this.database, { action: SIGN_IN, by, target: person.id, scopes, detail });
      return this.sessions.beginForPerson(person.id, {
        issuer: provider.issuer,
        sid: typeof sid === 'string' ? sid.slice(0, 1024) : null,
        idToken: tokens.id_token ?? null,
        refreshToken:
          clientSecret !== undefined && tokens.refresh_token
            ? seal(tokens.refresh_token, clientSecret)
            : null,
      });
    });
  }

  private async tokens(
    provider: SignInProvider,
    configuration: client.Configuration,
    { state, nonce, verifier }: SignInAttempt,
    search: string,
  ): Promise<Tokens> {
    const url = new URL(`${this.providers.address(provider, 'callback')}${search}`);
    try {
      return await client.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
    } catch (error) {
      throw toFailure(error);
    }
  }

  private async configuration(provider: SignInProvider): Promise<client.Configuration> {
    try {
      return (await this.providers.discovered(provider)).configuration();
    } catch (error) {
      throw new SignInFailure('provider_unavailable', error);
    }
  }

  /** Stores the provider's data of a person. The person gets the roles that were given to their e-mail address. */
  async seen(profile: Profile): Promise<Person> {
    const { issuer, email, emailVerified } = profile;
    const person = await this.database.transaction(async () => {
      const [user] = await this.database.query(userSeen(profile));
      if (email !== null && emailVerified)
        await this.database.query(emailMembersClaim(user!.id, issuer, email));
      return (await this.database.query(personById(user!.id)))[0]!.person!;
    });
    this.keys.forget();
    return person;
  }

  /** Ends a session. Returns the URL at which the browser ends it at the provider too, or null. */
  async signOut(token: string): Promise<string | null> {
    const session = await this.sessions.end(token);
    if (!session?.userId) return null;
    const [row] = await this.database.query(personById(session.userId));
    if (row?.person) await this.tellSignOut(row.person, 'the person');
    return this.endSessionUrl(session).catch((error: unknown) => {
      logger.warn(
        { causes: listCauses(error) },
        'a session was ended here, and not at its provider',
      );
      return null;
    });
  }

  private async endSessionUrl({ issuer, idToken }: ConsoleSession): Promise<string | null> {
    const provider = this.providers.withIssuer(issuer);
    if (!provider || idToken === null) return null;
    const { metadata, configuration } = await this.providers.discovered(provider);
    if (metadata.end_session_endpoint === undefined) return null;
    return client.buildEndSessionUrl(configuration(), {
      id_token_hint: idToken,
      post_logout_redirect_uri: `${this.config.publicUrl}/console/`,
    }).href;
  }

  /**
   * Ends the sessions that a provider's logout token names.
   * @throws ApiError `invalid_request`, `unavailable`
   */
  async backChannelLogout(provider: SignInProvider, token: string): Promise<void> {
    const { keys, metadata } = await this.providers.discovered(provider).catch((cause: unknown) => {
      throw new ApiError('unavailable', 'the provider cannot be reached', { cause });
    });
    const { sid, subject } = await readLogoutToken(
      { ...provider, issuer: metadata.issuer },
      keys,
      token,
    ).catch((cause: unknown) => {
      if (cause instanceof ApiError) throw cause;
      logger.warn(
        { causes: listCauses(cause), issuer: provider.issuer },
        'a logout token was refused',
      );
      throw new ApiError('invalid_request', 'logout_token is not valid');
    });
    await this.endSessions(provider.issuer, sid, subject);
  }

  /** Ends sessions at the request of their provider: the one with this `sid`, or all of the subject. */
  async endSessions(issuer: string, sid: string | null, subject: string | null): Promise<void> {
    const end = async () => {
      const ended = await this.database.query(sessionsEnd(issuer, sid, subject));
      for (const id of new Set(ended.map(({ user_id }) => user_id))) {
        const [row] = await this.database.query(personById(id));
        if (row?.person) await this.tellSignOut(row.person, 'the provider');
      }
    };
    await this.database.transaction({ isUrgent: true }, end);
    this.keys.forget();
  }

  private tellSignOut(person: Person, by: 'the person' | 'the provider') {
    return addEvent(this.database, {
      action: SIGN_OUT,
      by: actor(person),
      target: person.id,
      scopes: grantsTo(person, this.config.signInProviders).flatMap(({ scopes }) => scopes),
      detail: { by },
    });
  }
}

type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

const actor = (person: Person): Actor => ({
  keyId: null,
  userName: personName(person),
  userId: person.id,
});

/**
 * Reads the claims of the tokens, and those that only the userinfo endpoint has.
 * @throws SignInFailure
 */
export async function readClaims(
  provider: SignInProvider,
  configuration: client.Configuration,
  tokens: Pick<Tokens, 'access_token' | 'claims'>,
): Promise<Profile> {
  try {
    const idToken = tokens.claims()!;
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const userInfo = hasUserInfo
      ? await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub)
      : {};
    return readProfile(provider, idToken, userInfo);
  } catch (error) {
    throw toFailure(error);
  }
}

/**
 * Classifies an error. With an answer, the provider refused or somebody forged it; without one, the provider cannot be
 * reached.
 */
function toFailure(error: unknown): SignInFailure {
  if (error instanceof client.AuthorizationResponseError)
    return new SignInFailure(error.error === 'access_denied' ? 'denied' : 'not_valid', error);
  const { name, code } = error as { name?: string; code?: string };
  const isAway =
    name === 'TimeoutError' ||
    code === 'OAUTH_TIMEOUT' ||
    (error instanceof TypeError && code === undefined);
  return new SignInFailure(isAway ? 'provider_unavailable' : 'not_valid', error);
}

async function readLogoutToken(
  { issuer, clientId }: SignInProvider,
  keys: DiscoveredProvider['keys'],
  token: string,
): Promise<{ sid: string | null; subject: string | null }> {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    algorithms: ASYMMETRIC,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    maxTokenAge: LOGOUT_TOKEN_AGE,
    requiredClaims: ['iat', 'jti', 'events'],
  });
  const { sub, sid, nonce, events } = payload;
  if (nonce !== undefined) throw new Error('a logout token has no nonce: this is an ID token');
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, LOGOUT_EVENT))
    throw new Error('the token has no logout event');
  const named = typeof sid === 'string' ? sid : null;
  if (named === null && sub === undefined) throw new Error('the token names no session');
  return { sid: named, subject: sub ?? null };
}

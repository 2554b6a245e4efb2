import { Controller, HttpCode, HttpStatus, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { CookieOptions, Request, Response } from 'express';
import { Public } from '../../platform/auth/access-decorators.js';
import { clientAddress } from '../../platform/auth/limits/failed-attempts.js';
import type { Caller } from '../../platform/auth/caller.js';
import { FailureLog } from '../../platform/auth/limits/failure-log.js';
import { KeysService } from '../../platform/auth/keys/keys.service.js';
import { RateLimits } from '../../platform/auth/limits/rate-limits.js';
import {
  isFromConsole,
  SESSION_CHALLENGE,
  sessionCookieName,
  sessionToken,
} from '../../platform/auth/sessions/session-cookie.js';
import { SESSION_SECONDS, SessionsService } from '../../platform/auth/sessions/sessions.service.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { ApiError } from '../../platform/errors.js';
import { SignInService } from '../../platform/people/sign-in.service.js';

const AUTHORIZATION = /^(Bearer|Code) (\S+)$/;

/** Begins and ends sessions of the console. Neither operation reads a body. */
@ApiExcludeController()
@Controller('console')
export class ConsoleController {
  @Inject() private readonly signIns!: SignInService;
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly keys: KeysService,
    private readonly sessions: SessionsService,
    private readonly failures: FailureLog,
    private readonly limits: RateLimits,
  ) {}

  /** Begins a session with the key or the login code in the header Authorization. */
  @Post('login')
  @HttpCode(HttpStatus.OK)
  @Public()
  async login(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const [, scheme, secret] = AUTHORIZATION.exec(request.headers.authorization ?? '') ?? [];
    if (secret === undefined || !isFromConsole(request)) throw invalidKey();
    if (scheme === 'Bearer' && !this.config.consoleKeySignIn)
      throw new ApiError('forbidden', 'the console takes no keys here: sign in with the provider');
    const token =
      scheme === 'Code'
        ? await this.sessions.redeem(secret, clientAddress(request))
        : await this.sessions.begin(await this.signInBySecret(secret, request));
    response.cookie(sessionCookieName(request), token, {
      ...attributes(request),
      maxAge: SESSION_SECONDS * 1000,
    });
    return {};
  }

  /**
   * Ends the session of the cookie, if it exists. For a person, the answer may name the URL that also ends the session
   * at the identity provider.
   */
  @Post('logout')
  @HttpCode(HttpStatus.OK)
  @Public()
  async logout(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    if (!isFromConsole(request)) throw invalidKey();
    const token = sessionToken(request);
    const url = token === undefined ? null : await this.signIns.signOut(token);
    response.clearCookie(sessionCookieName(request), attributes(request));
    return url === null ? {} : { end_session_url: url };
  }

  private async signInBySecret(secret: string, request: Request): Promise<Caller> {
    const from = { address: clientAddress(request), challenge: SESSION_CHALLENGE };
    const caller = await this.keys.verify(secret, from);
    if (!caller) {
      this.failures.note(from.address);
      throw invalidKey();
    }
    if (!caller.as('reader'))
      throw new ApiError('forbidden', 'the console needs a key with the role reader');
    if (this.limits.areOn) await this.limits.admit(request, caller);
    return caller;
  }
}

const invalidKey = () =>
  new ApiError('unauthenticated', 'this is not a valid key', {
    headers: { 'WWW-Authenticate': SESSION_CHALLENGE },
  });

/**
 * Returns true when the browser uses HTTPS. Behind a proxy that TRUST_PROXY does not name, the header Origin of the
 * login shows this.
 */
const isByTls = (request: Request) =>
  request.secure || /^https:/i.test(request.headers.origin ?? '');

const attributes = (request: Request): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  secure: isByTls(request),
  path: '/',
});

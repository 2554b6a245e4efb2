import { Controller, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { CookieOptions, Request, Response } from 'express';
import { Public } from '../../platform/auth/access.js';
import { addressOf } from '../../platform/auth/failed-attempts.js';
import type { Caller } from '../../platform/auth/caller.js';
import { FailureLog } from '../../platform/auth/failure-log.js';
import { KeysService } from '../../platform/auth/keys.service.js';
import { RateLimits } from '../../platform/auth/rate-limits.js';
import {
  isFromConsole,
  SESSION_CHALLENGE,
  sessionCookieOf,
  sessionTokenOf,
} from '../../platform/auth/session-cookie.js';
import { SESSION_SECONDS, SessionsService } from '../../platform/auth/sessions.service.js';
import { ApiError } from '../../platform/errors.js';

/** `Bearer <key>`, or `Code <code>` of a login link. */
const AUTHORIZATION = /^(Bearer|Code) (\S+)$/;

/** How the console's page begins and ends its session. Neither operation reads a body. */
@ApiExcludeController()
@Controller('console')
export class ConsoleController {
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
    if (secret === undefined || !isFromConsole(request)) throw notLetIn();
    const token =
      scheme === 'Code'
        ? await this.sessions.redeem(secret, addressOf(request))
        : await this.sessions.begin(await this.callerOf(secret, request));
    response.cookie(sessionCookieOf(request), token, {
      ...attributes(request),
      maxAge: SESSION_SECONDS * 1000,
    });
    return {};
  }

  /** Ends the session of the cookie, if there is one. */
  @Post('logout')
  @HttpCode(HttpStatus.OK)
  @Public()
  async logout(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    if (!isFromConsole(request)) throw notLetIn();
    const token = sessionTokenOf(request);
    if (token !== undefined) await this.sessions.end(token);
    response.clearCookie(sessionCookieOf(request), attributes(request));
    return {};
  }

  private async callerOf(secret: string, request: Request): Promise<Caller> {
    const from = { address: addressOf(request), challenge: SESSION_CHALLENGE };
    const caller = await this.keys.verify(secret, from);
    if (!caller) {
      this.failures.note(from.address);
      throw notLetIn();
    }
    if (!caller.mayActAs('reader'))
      throw new ApiError('forbidden', 'the console needs a key with the role reader');
    if (this.limits.areOn) await this.limits.admit(request, caller);
    return caller;
  }
}

const notLetIn = () =>
  new ApiError('unauthenticated', 'this is no valid key', {
    headers: { 'WWW-Authenticate': SESSION_CHALLENGE },
  });

/** Behind a proxy that TRUST_PROXY does not name, the page's own address tells: browsers send it with each login. */
const isByTls = (request: Request) =>
  request.secure || /^https:/i.test(request.headers.origin ?? '');

const attributes = (request: Request): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  secure: isByTls(request),
  path: '/',
});

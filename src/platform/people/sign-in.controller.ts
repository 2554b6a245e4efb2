import {
  Controller,
  Get,
  HttpCode,
  HttpStatus,
  Inject,
  Param,
  Post,
  Redirect,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/access-decorators.js';
import { clientAddress, FailedAttempts } from '../auth/limits/failed-attempts.js';
import { FailureLog } from '../auth/limits/failure-log.js';
import { sessionCookieName } from '../auth/sessions/session-cookie.js';
import { SESSION_SECONDS } from '../auth/sessions/sessions.service.js';
import { CONFIG, type Config } from '../config/config.js';
import { ApiError } from '../errors.js';
import { Context, Ctx } from '../http/context.js';
import { HELD_RATE, readInflated } from '../http/inflated-body.js';
import { listCauses } from '../http/external-fetch.js';
import {
  attemptCookie,
  ATTEMPT_SECONDS,
  attemptText,
  pageOfConsole,
  readAttempt,
} from './sign-in-attempt.js';
import { logger } from '../process/logger.js';
import { ProvidersService } from './providers.service.js';
import { type SignInFailureReason, SignInFailure, SignInService } from './sign-in.service.js';

/** Most sign-ins of one address that wait for the provider. */
const MAX_AT_ONCE = 10;
const MAX_LOGOUT_BYTES = 32 * 1024;

interface RedirectUrl {
  url: string;
}

/**
 * Endpoints to which browsers are sent before and after the provider, and at which providers end sessions. A browser is
 * redirected only to a provider of the settings, or to a page of the console.
 */
@ApiExcludeController()
@Controller('auth/:provider')
export class SignInController {
  @Inject() private readonly failures!: FailureLog;
  private readonly isByTls: boolean;
  private readonly exchanges = new PendingSignIns();

  constructor(
    private readonly signIns: SignInService,
    private readonly providers: ProvidersService,
    private readonly attempts: FailedAttempts,
    @Inject(CONFIG) { publicUrl }: Config,
  ) {
    this.isByTls = publicUrl?.startsWith('https:') ?? false;
  }

  @Get('sign-in')
  @Public()
  @Redirect()
  async signIn(@Ctx() context: Context, @Param('provider') number: string): Promise<RedirectUrl> {
    const provider = this.providers.provider(number);
    return this.answer(context, async () => {
      const { url, attempt } = await this.signIns.begin(
        provider,
        pageOfConsole(query(context).get('to')),
      );
      this.setAttempt(context, attemptText(attempt), ATTEMPT_SECONDS);
      return url;
    });
  }

  @Get('callback')
  @Public()
  @Redirect()
  async callback(@Ctx() context: Context, @Param('provider') number: string): Promise<RedirectUrl> {
    const provider = this.providers.provider(number);
    return this.answer(context, async () => {
      const attempt = readAttempt(context, this.isByTls);
      this.setAttempt(context, '', 0); // an attempt works once
      if (!attempt) throw new SignInFailure('expired');
      const token = await this.exchanges.run(callerAddress(context), () =>
        this.signIns.finish(provider, attempt, `?${query(context).toString()}`),
      );
      this.setCookie(context, sessionCookieName(context), token, {
        seconds: SESSION_SECONDS,
        sameSite: 'Strict',
      });
      return pageOfConsole(attempt.to);
    });
  }

  /** Ends the sessions that a logout token of the provider names (OpenID Connect Back-Channel Logout). */
  @Post('back-channel-logout')
  @HttpCode(HttpStatus.OK)
  @Public()
  async backChannelLogout(
    @Ctx() context: Context,
    @Param('provider') number: string,
  ): Promise<object> {
    const provider = this.providers.provider(number);
    const chunks: Buffer[] = [];
    await readInflated(
      context,
      { limit: MAX_LOGOUT_BYTES, rate: HELD_RATE },
      (chunk) => void chunks.push(chunk),
    );
    const token = new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token');
    if (!token) throw new ApiError('invalid_request', 'logout_token must be given, in a form');
    context.response.setHeader('Cache-Control', 'no-store');
    await this.signIns.backChannelLogout(provider, token);
    return {};
  }

  /**
   * Redirects the browser. After a failure the person reads the reason and a reference, and the log contains the cause.
   */
  private async answer(context: Context, work: () => Promise<string>): Promise<RedirectUrl> {
    context.response.setHeader('Cache-Control', 'no-store');
    context.response.setHeader('Referrer-Policy', 'no-referrer');
    try {
      return { url: await work() };
    } catch (error) {
      const reason: SignInFailureReason =
        error instanceof SignInFailure ? error.reason : 'unavailable';
      const reference = context.request.id;
      if (await this.attempts.isLogged(callerAddress(context)))
        logger.warn(
          { request_id: reference, reason, causes: listCauses(error) },
          'a person was not signed in',
        );
      this.failures.note(callerAddress(context));
      return {
        url: `/console/#sign-in-failed=${reason}&reference=${encodeURIComponent(reference)}`,
      };
    }
  }

  /** Sets the attempt's cookie. It is Lax, because the browser returns from another site. */
  private setAttempt(context: Context, text: string, seconds: number): void {
    this.setCookie(context, attemptCookie(context, this.isByTls), text, {
      seconds,
      sameSite: 'Lax',
    });
  }

  private setCookie(
    context: Context,
    name: string,
    value: string,
    { seconds, sameSite }: { seconds: number; sameSite: 'Strict' | 'Lax' },
  ): void {
    const secure = this.isByTls ? '; Secure' : '';
    context.response.appendHeader(
      'Set-Cookie',
      `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`,
    );
  }
}

/**
 * Limits the sign-ins of a client that wait for the provider, since each costs both sides a few requests. Failures are
 * not counted: nobody can guess a code, and all people of an office may share one address.
 */
class PendingSignIns {
  private readonly underWay = new Map<string, number>();

  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    const count = this.underWay.get(address) ?? 0;
    if (count >= MAX_AT_ONCE) throw new SignInFailure('too_many');
    this.underWay.set(address, count + 1);
    try {
      return await work();
    } finally {
      const left = this.underWay.get(address)! - 1;
      if (left > 0) this.underWay.set(address, left);
      else this.underWay.delete(address);
    }
  }
}

const callerAddress = ({ ip, request: { socket } }: Context) => clientAddress({ ip, socket });

const query = ({ url }: Context) => new URL(url, 'http://here.invalid').searchParams;

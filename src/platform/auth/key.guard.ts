import { type ExecutionContext, Inject, Injectable, mixin, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard, type IAuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { ApiError } from '../errors.js';
import type { Role } from '../roles.js';
import { ROLE } from './access.guard.js';
import type { Caller } from './caller.js';
import { BASIC_CHALLENGE, BasicStrategy } from './basic.strategy.js';
import { BEARER_CHALLENGE, BearerStrategy } from './bearer.strategy.js';
import { clientAddress } from './limits/failed-attempts.js';
import { FailureLog } from './limits/failure-log.js';
import { KeysService } from './keys/keys.service.js';
import { Admissions, BEYOND_QUOTAS, RequestAdmission } from './limits/admission.js';
import { RateLimits } from './limits/rate-limits.js';
import { isFromConsole, SESSION_CHALLENGE, sessionToken } from './sessions/session-cookie.js';

export type Scheme = 'basic' | 'bearer';

const SCHEMES: Record<Scheme, { challenge: string; wanted: string }> = {
  basic: { challenge: BASIC_CHALLENGE, wanted: 'Basic, with the key as the password' },
  bearer: { challenge: BEARER_CHALLENGE, wanted: 'Bearer, with the key as the token' },
};

/** Methods of requests that a full quota of bytes does not refuse. */
const READING_OR_FREEING = new Set(['GET', 'DELETE']);

interface DeclaredAccess {
  role: Role;
  isBeyondQuotas: boolean;
}

/** Kept for each handler, because reading metadata costs as much as the rest of the guard. */
const declared = new WeakMap<Function, DeclaredAccess>();

const noSession = () =>
  new ApiError('unauthenticated', 'there is no session, or it has ended', {
    headers: { 'WWW-Authenticate': SESSION_CHALLENGE },
  });

/**
 * Makes the Passport guard of one or more schemes. It answers 401 with the scheme's challenge when no valid key was
 * sent (Passport adds no challenge to Nest's exception). It answers 429 when an address has failed too often or a key
 * is over its rate. It answers 403 when the role is too low for the route's `@Allow()`. Afterwards the caller reaches
 * only the scopes in which it has that role. A console request without the header Authorization is authenticated by its
 * session.
 */
export function keyGuard(schemes: Scheme[]): Type<IAuthGuard> {
  const guard = String(schemes);
  const challenge = schemes.map((scheme) => SCHEMES[scheme].challenge).join(', ');
  const wanted = schemes.map((scheme) => SCHEMES[scheme].wanted).join(', or ');
  const noKey = () =>
    new ApiError('unauthenticated', `the header Authorization must hold a valid key: ${wanted}`, {
      headers: { 'WWW-Authenticate': challenge },
    });
  @Injectable()
  class KeyGuard extends AuthGuard() {
    @Inject() private readonly reflector!: Reflector;
    @Inject() private readonly keys!: KeysService;
    @Inject() private readonly limits!: RateLimits;
    @Inject() private readonly failures!: FailureLog;
    @Inject() private readonly admissions!: Admissions;

    /**
     * Gives Passport the strategies of this app, because strategies registered by name belong to the whole process.
     * Passport modifies a strategy, so each request gets copies, as Passport itself does for named strategies.
     */
    constructor(basic: BasicStrategy, bearer: BearerStrategy) {
      const own = { basic, bearer };
      super({
        get defaultStrategy() {
          return schemes.map((scheme) => Object.create(own[scheme]));
        },
      });
    }

    override async canActivate(context: ExecutionContext): Promise<boolean> {
      const request = context.switchToHttp().getRequest<Request>();
      const found = request.context.isUnknown ? undefined : this.authenticate(request, context);
      const caller = found instanceof Promise ? await found : found;
      request.user = caller;
      if (!caller) {
        if (request.headers.authorization || sessionToken(request))
          this.failures.note(clientAddress(request));
        throw isFromConsole(request) ? noSession() : noKey();
      }
      if (this.limits.areOn) await this.limits.admit(request, caller);
      const { checks } = this.admissions;
      const reading = checks?.admit(caller);
      if (reading) await reading;
      const { role, isBeyondQuotas } = this.declaredAccess(context);
      const acting = caller.as(role);
      if (!acting)
        throw new ApiError('forbidden', `the operation needs a key with the role ${role}`);
      const isFreeing = isBeyondQuotas || READING_OR_FREEING.has(request.method);
      const admission = new RequestAdmission(checks, isFreeing, caller.onlyProject);
      request.user = acting.forRequest(admission, role);
      return true;
    }

    private declaredAccess(context: ExecutionContext): DeclaredAccess {
      const handler = context.getHandler();
      let access = declared.get(handler);
      if (!access) {
        const role = this.reflector.getAllAndOverride<Role>(ROLE, [handler, context.getClass()]);
        const isBeyondQuotas = this.reflector.get<boolean>(BEYOND_QUOTAS, handler) ?? false;
        declared.set(handler, (access = { role, isBeyondQuotas }));
      }
      return access;
    }

    private authenticate(
      request: Request,
      context: ExecutionContext,
    ): Caller | undefined | Promise<Caller | undefined> {
      const { authorization: sent } = request.headers;
      if (!sent) return this.callerOfSession(request);
      return this.keys.callerOn(request.socket, { guard, sent }, async () => {
        await super.canActivate(context);
        return request.user;
      });
    }

    private callerOfSession(request: Request): Caller | undefined | Promise<Caller | undefined> {
      const token = sessionToken(request);
      if (token === undefined) return undefined;
      const from = { address: clientAddress(request), challenge: SESSION_CHALLENGE };
      return this.keys.callerOn(
        request.socket,
        { guard: 'session', sent: token },
        async () => (await this.keys.verifySession(token, from)) ?? undefined,
      );
    }

    /** Passes errors on, such as an unreachable database. `canActivate` handles a missing caller. */
    override handleRequest<T>(error: unknown, user: T): T {
      if (error) throw error;
      return (user || undefined) as T;
    }
  }
  return mixin(KeyGuard);
}

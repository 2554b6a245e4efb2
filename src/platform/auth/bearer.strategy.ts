import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy as HttpBearer } from 'passport-http-bearer';
import { ApiError } from '../errors.js';
import type { Caller } from './caller.js';
import { clientAddress, FailedAttempts } from './limits/failed-attempts.js';
import { listCauses } from '../http/external-fetch.js';
import { logger } from '../process/logger.js';
import { KeysService } from './keys/keys.service.js';
import { WorkloadTokens } from './workload-tokens.js';

export const BEARER_CHALLENGE = 'Bearer realm="skein"';

/** Accepts an API key as the token, or a signed token of a workload. */
@Injectable()
export class BearerStrategy extends PassportStrategy(HttpBearer, 'bearer') {
  constructor(
    private readonly keys: KeysService,
    private readonly tokens: WorkloadTokens,
    private readonly attempts: FailedAttempts,
  ) {
    super({ passReqToCallback: true });
  }

  /** Passes only the header on. passport-http-bearer would also accept a token from the URL or the body. */
  override authenticate(request: Request, options?: object): void {
    const { authorization } = request.headers;
    super.authenticate(
      { headers: { authorization }, address: clientAddress(request) } as never,
      options,
    );
  }

  /** Counts a refused token as a failed attempt of the address, like an unknown key. */
  async validate({ address }: { address: string }, token: string): Promise<Caller | null> {
    if (!this.tokens.mayBe(token))
      return this.keys.verify(token, { address, challenge: BEARER_CHALLENGE });
    try {
      return await this.tokens.verify(token, BEARER_CHALLENGE);
    } catch (error) {
      if (error instanceof ApiError) throw error; // the issuer did not answer, which is not the caller's fault
      await this.attempts.count(address); // throws above the limit, so nothing is logged either
      logger.warn({ causes: listCauses(error) }, 'a token was refused');
      return null;
    }
  }
}

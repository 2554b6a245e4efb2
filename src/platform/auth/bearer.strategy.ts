import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy as HttpBearer } from 'passport-http-bearer';
import type { Caller } from './caller.js';
import { addressOf } from './failed-attempts.js';
import { KeysService } from './keys.service.js';

export const BEARER_CHALLENGE = 'Bearer realm="skein"';

/** An API key as the token. */
@Injectable()
export class BearerStrategy extends PassportStrategy(HttpBearer, 'bearer') {
  constructor(private readonly keys: KeysService) {
    super({ passReqToCallback: true });
  }

  /** passport-http-bearer would also take a token from the address or the body: it sees nothing but the header. */
  override authenticate(request: Request, options?: object): void {
    const { authorization } = request.headers;
    super.authenticate(
      { headers: { authorization }, address: addressOf(request) } as never,
      options,
    );
  }

  validate({ address }: { address: string }, token: string): Promise<Caller | null> {
    return this.keys.verify(token, { address, challenge: BEARER_CHALLENGE });
  }
}

import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy as HttpBearer } from 'passport-http-bearer';
import type { Caller } from './caller.js';
import { keyGuard } from './key.guard.js';
import { KeysService } from './keys.service.js';

/** An API key as the token. */
@Injectable()
export class BearerStrategy extends PassportStrategy(HttpBearer, 'bearer') {
  constructor(private readonly keys: KeysService) {
    super();
  }

  validate(token: string): Promise<Caller | null> {
    return this.keys.verify(token);
  }
}

export const BearerGuard = keyGuard('bearer', 'Bearer realm="skein"');

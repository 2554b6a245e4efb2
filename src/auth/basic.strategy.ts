import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { BasicStrategy as HttpBasic } from 'passport-http';
import type { Caller } from './caller.js';
import { keyGuard } from './key.guard.js';
import { KeysService } from './keys.service.js';

/** Any user name, an API key as the password. */
@Injectable()
export class BasicStrategy extends PassportStrategy(HttpBasic, 'basic') {
  constructor(private readonly keys: KeysService) {
    super();
  }

  validate(_userName: string, password: string): Promise<Caller | null> {
    return this.keys.verify(password);
  }
}

export const BasicGuard = keyGuard('basic', 'Basic realm="skein", charset="UTF-8"');

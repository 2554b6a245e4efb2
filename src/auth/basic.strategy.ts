import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
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

  /** passport-http wants a user name; ours may be empty, since the key says who it is. */
  override authenticate(request: Request, options?: object): void {
    const { authorization } = request.headers;
    const decoded = Buffer.from(authorization?.split(' ')[1] ?? '', 'base64').toString();
    if (decoded.startsWith(':'))
      request.headers.authorization = `Basic ${Buffer.from(`-${decoded}`).toString('base64')}`;
    super.authenticate(request as never, options);
  }

  validate(_userName: string, password: string): Promise<Caller | null> {
    return this.keys.verify(password);
  }
}

export const BasicGuard = keyGuard('basic', 'Basic realm="skein", charset="UTF-8"');

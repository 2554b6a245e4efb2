import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BasicStrategy as HttpBasic } from 'passport-http';
import type { Caller } from './caller.js';
import { clientAddress } from './limits/failed-attempts.js';
import { KeysService } from './keys/keys.service.js';

export const BASIC_CHALLENGE = 'Basic realm="skein", charset="UTF-8"';

/** Accepts any user name, with an API key as the password. */
@Injectable()
export class BasicStrategy extends PassportStrategy(HttpBasic, 'basic') {
  constructor(private readonly keys: KeysService) {
    super({ passReqToCallback: true });
  }

  /**
   * Adds a placeholder where the user name is empty. passport-http requires one, but only the key identifies the
   * caller.
   */
  override authenticate(request: Request, options?: object): void {
    const { authorization } = request.headers;
    const [scheme, encoded = ''] = authorization?.split(' ') ?? [];
    const decoded = Buffer.from(encoded, 'base64').toString();
    const named = decoded.startsWith(':')
      ? `${scheme} ${Buffer.from(`-${decoded}`).toString('base64')}`
      : authorization;
    super.authenticate(
      { headers: { authorization: named }, address: clientAddress(request) } as never,
      options,
    );
  }

  validate(
    { address }: { address: string },
    _userName: string,
    password: string,
  ): Promise<Caller | null> {
    return this.keys.verify(password, { address, challenge: BASIC_CHALLENGE });
  }
}

/** Returns the user name of a Basic header that names a project, as Langfuse's public keys do: a name with a slash. */
export function langfuseProjectKey(authorization: string | undefined): string | undefined {
  const [scheme = '', encoded = ''] = authorization?.split(' ') ?? [];
  const [name = ''] = Buffer.from(encoded, 'base64').toString().split(':', 1);
  return /^basic$/i.test(scheme) && name.includes('/') ? name : undefined;
}

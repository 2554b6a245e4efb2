import { Get } from '@nestjs/common';
import { Context, Ctx } from '../http/context.js';
import { Allow, EitherAuth, NoProjectField, Resource } from './access.js';
import { MeDto } from './keys.dto.js';

@Resource('keys', EitherAuth(), 'me')
export class MeController {
  /** What the key of the request is, and what it reaches. */
  @Get()
  @Allow('reader')
  @NoProjectField('says what the key is')
  me(@Ctx() { caller }: Context): MeDto {
    return {
      id: caller.keyId,
      user: caller.userName,
      role: caller.role,
      scopes: [...caller.scopes],
      expires_at: caller.expiresAt?.toISOString() ?? null,
    };
  }
}

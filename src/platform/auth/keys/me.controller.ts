import { Get } from '@nestjs/common';
import { Context, Ctx } from '../../http/context.js';
import { Allow, BasicOrBearerAuth, NoProjectField, Resource } from '../access-decorators.js';
import { MeDto } from './keys.dto.js';

@Resource('keys', BasicOrBearerAuth(), 'me')
export class MeController {
  /** Returns the caller: its key or person, and its roles with their scopes. */
  @Get()
  @Allow('reader')
  @NoProjectField('says what the key is')
  me(@Ctx() { caller }: Context): MeDto {
    const { by, person } = caller.holder;
    return {
      id: caller.keyId,
      user: caller.userName,
      role: caller.role,
      scopes: [...caller.scopes],
      expires_at: caller.expiresAt?.toISOString() ?? null,
      by,
      person: person && {
        id: person.id,
        issuer: person.issuer,
        email: person.email,
        name: person.name,
        groups: person.groups,
      },
      grants: caller.grants.map(({ role, scopes }) => ({ role, scopes: [...scopes] })),
    };
  }
}

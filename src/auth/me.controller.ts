import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Allow, EitherAuth, NoProjectField } from './access.js';
import { Caller, CallerParam } from './caller.js';
import { MeDto } from './keys.dto.js';

@ApiTags('keys')
@EitherAuth()
@Controller('me')
export class MeController {
  /** What the key of the request is, and what it reaches. */
  @Get()
  @Allow('reader')
  @NoProjectField('says what the key is')
  me(@CallerParam() caller: Caller): MeDto {
    return {
      id: caller.keyId,
      user: caller.userName,
      role: caller.role,
      scopes: [...caller.scopes],
      expires_at: caller.expiresAt?.toISOString() ?? null,
    };
  }
}

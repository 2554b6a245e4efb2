import { Body } from '@nestjs/common';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../../platform/auth/access-decorators.js';
import { Idempotent } from '../../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { QuotaDto, QuotaSetDto, QuotasQueryDto, ScopeUsesDto } from './quotas.dto.js';
import { QuotasService } from './quotas.service.js';

@Resource('projects', BasicAuth(), 'quotas')
export class QuotasController {
  constructor(private readonly quotas: QuotasService) {}

  /** Lists what entities and projects use, with their quotas, as far as the scopes of an admin reach. */
  @Operation('query', 'admin')
  @NoProjectField('answers those that the key reaches')
  query(@Body() body: QuotasQueryDto, @Ctx() { caller }: Context): Promise<ScopeUsesDto> {
    return this.quotas.list(body, caller);
  }

  /**
   * Replaces the quotas of a scope. An admin of its entity sets those of a project, and an admin of everything those of
   * an entity, so that nobody raises their own limit.
   */
  @Operation('set', 'admin')
  @Idempotent()
  @NoProjectField('the service holds the scope against those of the caller')
  set(@Body() body: QuotaSetDto, @Ctx() { caller }: Context): Promise<QuotaDto> {
    return this.quotas.set(body, caller);
  }
}

import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  HoldReleaseDto,
  LegalHoldDto,
  RetentionAnswerDto,
  RetentionDto,
  RetentionReadDto,
  TtlSettingsAnswerDto,
  TtlSettingsDto,
} from './retention.dto.js';
import { RetentionService } from './retention.service.js';

@Resource('erasing', BasicAuth(), 'retention')
export class RetentionController {
  constructor(private readonly retention: RetentionService) {}

  /** Sets how long a project keeps calls, payloads and feedback. Older ones are erased in the background. */
  @Operation('set', 'admin')
  @BeyondQuotas()
  @Idempotent()
  set(@Body() body: RetentionDto, @Ctx() { caller }: Context): Promise<RetentionAnswerDto> {
    return this.retention.set(body, caller);
  }

  /**
   * Sets a legal hold of a project, or of one of its traces or threads. While it is set, retention erases nothing of
   * it, and requests that delete something of it are refused.
   */
  @Operation('hold', 'admin')
  @Idempotent()
  hold(@Body() body: LegalHoldDto, @Ctx() { caller }: Context): Promise<RetentionAnswerDto> {
    return this.retention.hold(body, caller);
  }

  /** Releases a legal hold of a project. */
  @Operation('release', 'admin')
  @Idempotent()
  release(@Body() body: HoldReleaseDto, @Ctx() { caller }: Context): Promise<RetentionAnswerDto> {
    return this.retention.release(body, caller);
  }

  /** Reads how long a project keeps calls, payloads and feedback, and its legal holds. */
  @Operation('read', 'reader')
  read(@Body() { project_id }: RetentionReadDto): Promise<RetentionAnswerDto> {
    return this.retention.read(project_id);
  }
}

/** The retention of calls, under the names of published clients. */
@Resource('erasing', BasicAuth(), 'project/ttl_settings')
export class TtlSettingsController {
  constructor(private readonly retention: RetentionService) {}

  /** Sets how long a project keeps calls. The retention of payloads and feedback does not change. */
  @Operation('update', 'admin')
  @BeyondQuotas()
  @Idempotent()
  async update(
    @Body() { project_id, retention_days = null }: TtlSettingsDto,
    @Ctx() { caller }: Context,
  ): Promise<TtlSettingsAnswerDto> {
    const { calls_days } = await this.retention.setCalls(project_id, retention_days, caller);
    return { retention_days: calls_days };
  }

  /** Reads how long a project keeps calls. */
  @Operation('read', 'reader')
  async read(@Body() { project_id }: RetentionReadDto): Promise<TtlSettingsAnswerDto> {
    const { calls_days } = await this.retention.read(project_id);
    return { retention_days: calls_days };
  }
}

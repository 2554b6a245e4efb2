import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access.js';
import { Idempotent } from '../../platform/auth/idempotency.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { RetentionAnswerDto, RetentionDto, RetentionReadDto } from './retention.dto.js';
import { RetentionService } from './retention.service.js';

@Resource('erasing', BasicAuth(), 'retention')
export class RetentionController {
  constructor(private readonly retention: RetentionService) {}

  /** Sets how long a project keeps calls, and their payloads. Older calls are erased in the background. */
  @Operation('set', 'admin')
  @Idempotent()
  set(@Body() body: RetentionDto, @Ctx() { caller }: Context): Promise<RetentionAnswerDto> {
    return this.retention.set(body, caller);
  }

  /** How long a project keeps calls, and their payloads. */
  @Operation('read', 'reader')
  read(@Body() { project_id }: RetentionReadDto): Promise<RetentionAnswerDto> {
    return this.retention.read(project_id);
  }
}

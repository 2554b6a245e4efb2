import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../auth/access-decorators.js';
import { BeyondQuotas } from '../auth/limits/admission.js';
import { Idempotency, IdempotentInHandler } from '../auth/idempotency/idempotency.js';
import { Context, Ctx } from '../http/context.js';
import { ErasedDto, ProjectDeleteDto } from './erasings.dto.js';
import { ErasingsService } from './erasings.service.js';
import { ProjectErasing } from './project-erasing.js';

@Resource('erasing', BasicAuth(), 'project')
export class ErasingsController {
  constructor(
    private readonly erasings: ErasingsService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Erases a project with all its data. After some seconds the work continues in the background. The same request with
   * the same Idempotency-Key returns the progress.
   */
  @Operation('delete', 'admin')
  @BeyondQuotas()
  @IdempotentInHandler()
  async deleteProject(
    @Body() { project_id: projectId }: ProjectDeleteDto,
    @Ctx() context: Context,
  ): Promise<ErasedDto> {
    const erasure = {
      projectId,
      kind: ProjectErasing.kind,
      request: {},
      event: { action: ProjectErasing.action, target: projectId },
    };
    const begin = () => this.erasings.begin(erasure, context.caller);
    return this.erasings.run(projectId, () => this.idempotency.once(context, begin));
  }
}

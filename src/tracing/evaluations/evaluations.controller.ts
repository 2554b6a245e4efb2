import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { EvaluationStatusDto, EvaluationStatusQueryDto } from './eval-results.dto.js';
import { EvaluationStatusService } from './evaluation-status.service.js';

@Resource('evaluations', BasicAuth(), 'evaluations')
export class EvaluationsController {
  constructor(private readonly evaluations: EvaluationStatusService) {}

  /** Reads the status of an evaluation: running with its rows so far, failed, or complete with its output. */
  @Operation('status', 'reader')
  @ApiJsonResponse({ type: EvaluationStatusDto })
  status(@Body() query: EvaluationStatusQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.evaluations.status(query, caller);
  }
}

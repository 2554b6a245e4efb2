import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  ModelAliasesAnswerDto,
  ModelAliasesQueryDto,
  GateRequestDto,
  GateResultDto,
  PromoteDto,
  PromotedDto,
} from './promotion.dto.js';
import { PromotionService } from './promotion.service.js';

@Resource('promotion', BasicAuth(), 'models')
export class PromotionController {
  constructor(private readonly promotion: PromotionService) {}

  /**
   * Moves the alias `current` of a model to a step, by hand or if the step passes a gate. To roll back, promote an
   * older step. When the gate is not passed, answers 409 with the result of the gate, and moves nothing.
   */
  @Operation('promote', 'writer')
  @Idempotent()
  @ApiOkResponse({ type: PromotedDto })
  promote(@Body() body: PromoteDto, @Ctx() context: Context): Promise<PromotedDto> {
    return this.promotion.promote(body, context);
  }

  /** Compares the recorded calls of a step with those of another, row by row. Stores nothing. */
  @Operation('gate', 'reader')
  @ApiOkResponse({ type: GateResultDto })
  gate(@Body() body: GateRequestDto, @Ctx() context: Context): Promise<GateResultDto> {
    return this.promotion.gate(body, context);
  }

  /** Lists the aliases of a model, and the history of their moves. */
  @Operation('aliases/query', 'reader')
  @ApiJsonResponse({ type: ModelAliasesAnswerDto })
  queryAliases(@Body() body: ModelAliasesQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.promotion.list(body, caller);
  }
}

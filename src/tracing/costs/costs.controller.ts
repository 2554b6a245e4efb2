import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import {
  CostExplainDto,
  CostsCreatedDto,
  CostsCreateDto,
  CostsExplainedDto,
  CostsFoundDto,
  CostsPurgeDto,
  CostsQueryDto,
} from './costs.dto.js';
import { CostsService } from './costs.service.js';

@Resource('costs', BasicAuth(), 'cost')
export class CostsController {
  constructor(private readonly costs: CostsService) {}

  /** Stores price records of a project. A record prices all calls that start on or after its effective date. */
  @Operation('create', 'writer')
  @Idempotent()
  create(@Body() body: CostsCreateDto, @Ctx() { text }: Context): Promise<CostsCreatedDto> {
    return this.costs.create(body, text);
  }

  /** Lists the price records of a project, without built-in prices. */
  @Operation('query', 'reader')
  @ApiOkResponse({ type: CostsFoundDto })
  async query(@Body() query: CostsQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.costs.query(query), context, 'results');
  }

  /** Deletes the price records of a project that match a query. */
  @Operation('purge', 'writer')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async purge(@Body() body: CostsPurgeDto, @Ctx() { caller }: Context): Promise<object> {
    await this.costs.purge(body, caller);
    return {};
  }

  /**
   * Explains the costs of calls: tokens × unit price = total for each call and model, the record that was used, and why
   * it was chosen.
   */
  @Operation('explain', 'reader')
  @ApiJsonResponse({ type: CostsExplainedDto })
  explain(@Body() body: CostExplainDto): Promise<string> {
    return this.costs.explain(body);
  }
}

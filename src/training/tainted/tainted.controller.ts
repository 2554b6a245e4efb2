import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { TaintedAnswerDto, TaintedQueryDto } from './tainted.dto.js';
import { TaintedService } from './tainted.service.js';

@Resource('builds', BasicAuth())
export class TaintedController {
  constructor(private readonly tainted: TaintedService) {}

  /**
   * Lists the builds, jobs and checkpoints that purging calls would mark as tainted, or that are marked. Stores
   * nothing.
   */
  @Operation('lineage/tainted', 'reader')
  @ApiJsonResponse({ type: TaintedAnswerDto })
  query(@Body() body: TaintedQueryDto): Promise<string> {
    return this.tainted.query(body);
  }
}

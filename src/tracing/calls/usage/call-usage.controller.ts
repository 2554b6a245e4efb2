import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { CallsUsageDto, TraceUsageDto, UsageAnswerDto } from './call-usage.dto.js';
import { CallUsageService } from './call-usage.service.js';

@Resource('calls', BasicAuth())
export class CallUsageController {
  constructor(private readonly usage: CallUsageService) {}

  /** Returns the tokens that calls used, by model. Each call includes its descendants. */
  @Operation('calls/usage', 'reader')
  @ApiJsonResponse({ type: UsageAnswerDto })
  async ofCalls(@Body() body: CallsUsageDto): Promise<string> {
    return await this.usage.ofCalls(body);
  }

  /**
   * Returns the tokens that each matching call used, by model, such as each call of a trace. Descendants that do not
   * match are left out.
   */
  @Operation('trace/usage', 'reader')
  @ApiJsonResponse({ type: UsageAnswerDto })
  async ofMatching(@Body() body: TraceUsageDto): Promise<string> {
    return await this.usage.ofMatching(body);
  }
}

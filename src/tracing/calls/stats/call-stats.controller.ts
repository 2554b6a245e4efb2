import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { CallsStatsAnswerDto, CallsStatsDto } from '../calls.dto.js';
import { CallCountsService } from './call-counts.service.js';
import { CallStatsAnswerDto, CallStatsDto } from './call-stats.dto.js';
import { CallStatsService } from './call-stats.service.js';

@Resource('calls', BasicAuth())
export class CallStatsController {
  constructor(
    private readonly callStats: CallStatsService,
    private readonly callCounts: CallCountsService,
  ) {}

  /** Counts the calls that match. */
  @Operation('calls/query_stats', 'reader')
  count(@Body() query: CallsStatsDto): Promise<CallsStatsAnswerDto> {
    return this.callCounts.count(query);
  }

  /** Returns statistics of calls over time: their number, latency, errors, and usage by model. */
  @Operation('calls/stats', 'reader')
  @ApiJsonResponse({ type: CallStatsAnswerDto })
  async stats(@Body() body: CallStatsDto): Promise<string> {
    return await this.callStats.stats(body);
  }
}

import { Body, Controller, Header, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Allow, BasicAuth } from '../../auth/access.js';
import { CallsStatsAnswerDto, CallsStatsDto } from '../calls.dto.js';
import { CallCountsService } from './call-counts.service.js';
import { CallStatsAnswerDto, CallStatsDto } from './call-stats.dto.js';
import { CallStatsService } from './call-stats.service.js';

@ApiTags('calls')
@BasicAuth()
@Controller()
export class CallStatsController {
  constructor(
    private readonly callStats: CallStatsService,
    private readonly callCounts: CallCountsService,
  ) {}

  /** How many calls match. */
  @Post('calls/query_stats')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  count(@Body() query: CallsStatsDto): Promise<CallsStatsAnswerDto> {
    return this.callCounts.count(query);
  }

  /** What calls did over time: how many there were, how long they took, how many failed, what they spent by model. */
  @Post('calls/stats')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: CallStatsAnswerDto })
  stats(@Body() body: CallStatsDto): Promise<string> {
    return this.callStats.stats(body);
  }
}

import { Body, Controller, Header, HttpCode, HttpStatus, Post, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Allow, BasicAuth } from '../../auth/access.js';
import { heldAnswer } from '../../common/body-budget.js';
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
  async stats(@Body() body: CallStatsDto, @Req() request: Request): Promise<string> {
    return heldAnswer(request, await this.callStats.stats(body));
  }
}

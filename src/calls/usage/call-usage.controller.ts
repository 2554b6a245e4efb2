import { Body, Controller, Header, HttpCode, HttpStatus, Post, Req } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Allow, BasicAuth } from '../../auth/access.js';
import { heldAnswer } from '../../common/body-budget.js';
import { CallsUsageDto, TraceUsageDto, UsageAnswerDto } from './call-usage.dto.js';
import { CallUsageService } from './call-usage.service.js';

@ApiTags('calls')
@BasicAuth()
@Controller()
export class CallUsageController {
  constructor(private readonly usage: CallUsageService) {}

  /** Tokens that calls spent by model, each call with its descendants. */
  @Post('calls/usage')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: UsageAnswerDto })
  async ofCalls(@Body() body: CallsUsageDto, @Req() request: Request): Promise<string> {
    return heldAnswer(request, await this.usage.ofCalls(body));
  }

  /** The same for each of the calls that match, such as those of a trace; descendants that do not match are left out. */
  @Post('trace/usage')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: UsageAnswerDto })
  async ofMatching(@Body() body: TraceUsageDto, @Req() request: Request): Promise<string> {
    return heldAnswer(request, await this.usage.ofMatching(body));
  }
}

import { Body, Controller, Header, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Allow, BasicAuth } from '../../auth/access.js';
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
  ofCalls(@Body() body: CallsUsageDto): Promise<string> {
    return this.usage.ofCalls(body);
  }

  /** The same for each of the calls that match, such as those of a trace; descendants that do not match are left out. */
  @Post('trace/usage')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: UsageAnswerDto })
  ofMatching(@Body() body: TraceUsageDto): Promise<string> {
    return this.usage.ofMatching(body);
  }
}

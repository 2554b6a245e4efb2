import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { CallMatchesAnswerDto, CallMatchesDto } from './call-matches.dto.js';
import { CallMatchesService } from './call-matches.service.js';

@Resource('calls', BasicAuth())
export class CallMatchesController {
  constructor(private readonly calls: CallMatchesService) {}

  /** Returns where calls say some texts: the paths, and the text around each match. */
  @Operation('calls/matches', 'reader')
  @ApiOkResponse({ type: CallMatchesAnswerDto })
  matches(@Body() body: CallMatchesDto, @Ctx() context: Context): Promise<CallMatchesAnswerDto> {
    return this.calls.matches(body, context);
  }
}

import { Body, Controller, Param, UseGuards } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  ShortWrites,
} from '../../platform/auth/access-decorators.js';
import { Idempotency, IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  CallEndBodyDto,
  CallsCompleteDto,
  CallStartBodyDto,
  CallStartedDto,
} from '../../tracing/calls/calls.dto.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { type ProjectPath, ProjectPathGuard } from '../../tracing/project-path.guard.js';

/** Records calls of newer SDKs. The project is in the path, and the body must name the same project. */
@ApiTags('calls')
@ApiParam({ name: 'entity', example: 'acme' })
@ApiParam({ name: 'project', example: 'demo' })
@UseGuards(ProjectPathGuard)
@ShortWrites()
@BasicAuth() // decorators apply from the last one up, so its guards run first
@Controller('v2/:entity/:project')
export class CallsV2Controller {
  constructor(
    private readonly calls: CallsService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Records up to 10,000 calls that have ended. If some are refused, the answer is 422 with their places in `errors`,
   * and the other calls are stored. It is not 200, because the published clients ignore the body of a 200.
   */
  @Operation('calls/complete', 'writer')
  @NoProjectField('ProjectPathGuard checks the project of the path')
  @ApiEmptyResponse()
  async complete(
    @Body() { batch }: CallsCompleteDto,
    @Ctx() { text, caller }: Context,
    @Param() { entity, project }: ProjectPath,
  ): Promise<object> {
    await this.calls.complete(batch, text, `${entity}/${project}`, caller);
    return {};
  }

  /** Records the start of a call, as `/call/start` does. */
  @Operation('call/start', 'writer')
  @IdempotentInHandler()
  start(@Body() { start }: CallStartBodyDto, @Ctx() context: Context): Promise<CallStartedDto> {
    const write = () => this.calls.start(start, context.text, context.caller);
    return this.idempotency.once(context, write, { isHarmless: typeof start.id === 'string' });
  }

  /** Records the end of a call that has started. Answers 404 if the call has not started. */
  @Operation('call/end', 'writer')
  @ApiEmptyResponse()
  async end(@Body() { end }: CallEndBodyDto, @Ctx() { text, caller }: Context): Promise<object> {
    await this.calls.endStarted(end, text, caller);
    return {};
  }
}

import { Body, Get, Headers, HttpStatus, Param, Post, Res, StreamableFile } from '@nestjs/common';
import { ApiHeader, ApiNoContentResponse, ApiOkResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access.js';
import { ApiEmptyResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { holderOf, QueueService } from './queue.service.js';
import {
  ClaimDto,
  ClaimedDto,
  CompletedDto,
  CompleteDto,
  FailDto,
  FailedDto,
  HeartbeatAnswerDto,
  TrainerEventsDto,
} from './trainer.dto.js';

const LEASE_TOKEN = 'x-lease-token';
const GZIP = 'application/gzip';

/** What a trainer speaks. Every 409 means: stop working on the job. */
@NoProjectField('a job belongs to one, which QueueService checks')
@Resource('preview: trainers', BearerAuth(), 'v1/preview/trainer')
export class TrainerController {
  constructor(private readonly queue: QueueService) {}

  /** Leases the oldest training job that can run, waiting for one if asked to; 204 when there is none. */
  @Post('claims')
  @Allow('trainer')
  @ApiOkResponse({ type: ClaimedDto })
  @ApiNoContentResponse()
  async claim(
    @Body() body: ClaimDto,
    @Ctx() context: Context,
    @Res() response: Response,
  ): Promise<void> {
    const claimed = await this.queue.claim(body, context);
    if (claimed === null) response.status(HttpStatus.NO_CONTENT).send();
    else response.status(HttpStatus.OK).type('json').send(claimed);
  }

  /** The trajectory groups of the job as gzip JSONL, one group per line. */
  @Get('jobs/:id/payload')
  @Allow('trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiOkResponse({ content: { [GZIP]: { schema: { type: 'string', format: 'binary' } } } })
  async payload(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Ctx() { caller }: Context,
  ): Promise<StreamableFile> {
    const { stream, bytes } = await this.queue.payload(holderOf(id, token), caller);
    return new StreamableFile(stream, { type: GZIP, length: bytes });
  }

  /** Keeps the lease. */
  @Operation('jobs/:id/heartbeat', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  heartbeat(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Ctx() { caller }: Context,
  ): Promise<HeartbeatAnswerDto> {
    return this.queue.heartbeat(holderOf(id, token), caller);
  }

  /** Reports how training goes; the first event is `training_started`. Keeps the lease. */
  @Operation('jobs/:id/events', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiEmptyResponse()
  async addEvents(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() { events }: TrainerEventsDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.queue.addEvents(holderOf(id, token), events, caller);
    return {};
  }

  /** Ends the job with a new checkpoint. */
  @Operation('jobs/:id/complete', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  complete(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() body: CompleteDto,
    @Ctx() { caller }: Context,
  ): Promise<CompletedDto> {
    return this.queue.complete(holderOf(id, token), body, caller);
  }

  /** Ends the attempt. The job is tried again if that may help and attempts are left. */
  @Operation('jobs/:id/fail', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  fail(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() body: FailDto,
    @Ctx() { caller }: Context,
  ): Promise<FailedDto> {
    return this.queue.fail(holderOf(id, token), body, caller);
  }
}

import {
  Body,
  Get,
  Headers,
  HttpStatus,
  Param,
  Post,
  Query,
  Res,
  StreamableFile,
} from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
} from '@nestjs/swagger';
import type { Response } from 'express';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { ApiEmptyResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import { rangedAnswer } from '../byte-range.js';
import { TrainerFilesService } from './trainer-files.service.js';
import { readLeaseHolder, QueueService } from './queue.service.js';
import {
  ClaimDto,
  ClaimedDto,
  CompletedDto,
  CompleteDto,
  FailDto,
  EventsAddedDto,
  FailedDto,
  HeartbeatAnswerDto,
  JobFileQueryDto,
  PartQueryDto,
  PartsDto,
  PartStoredDto,
  PayloadQueryDto,
  StateDto,
  TrainerEventsDto,
} from './trainer.dto.js';

const LEASE_TOKEN = 'x-lease-token';
const GZIP = 'application/gzip';
const BYTES = 'application/octet-stream';

/** The API of trainers. Every 409 means that the trainer must stop working on the job. */
@NoProjectField('a job belongs to one, which QueueService checks')
@Resource('preview: trainers', BearerAuth(), 'v1/preview/trainer')
export class TrainerController {
  constructor(
    private readonly queue: QueueService,
    private readonly files: TrainerFilesService,
  ) {}

  /** Leases the oldest training job that can run. Waits up to `wait_s` seconds for one, and answers 204 without one. */
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

  /**
   * Streams the trajectory groups of the job as gzip JSONL, one group per line: all groups, a byte range (`Range`),
   * or the requested groups.
   */
  @Get('jobs/:id/payload')
  @Allow('trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiOkResponse({ content: { [GZIP]: { schema: { type: 'string', format: 'binary' } } } })
  async payload(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Query(QueryPipe) query: PayloadQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    const answer = await this.files.payload(readLeaseHolder(id, token), query, context);
    if ('range' in answer) return rangedAnswer(context, answer, GZIP);
    return new StreamableFile(answer, { type: GZIP });
  }

  /** Streams a file of the checkpoint to start from, or of an earlier attempt. Supports the header `Range`. */
  @Get('jobs/:id/file')
  @Allow('trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiOkResponse({ content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } })
  async file(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Query(QueryPipe) query: JobFileQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    const answer = await this.files.file(readLeaseHolder(id, token), query, context);
    return rangedAnswer(context, answer, BYTES);
  }

  /** Lists the stored parts of files, also those of earlier attempts. */
  @Get('jobs/:id/parts')
  @Allow('trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  parts(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Ctx() { caller }: Context,
  ): Promise<PartsDto> {
    return this.files.parts(readLeaseHolder(id, token), caller);
  }

  /** Stores the body, up to 100 MiB, as a part of a file. A stored part is not replaced. Extends the lease. */
  @Operation('jobs/:id/parts', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiConsumes(BYTES)
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  addPart(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Query(QueryPipe) query: PartQueryDto,
    @Ctx() context: Context,
  ): Promise<PartStoredDto> {
    return this.files.addPart(readLeaseHolder(id, token), query, context);
  }

  /** Replaces the manifest of files that the next attempt starts with if this one fails. Extends the lease. */
  @Operation('jobs/:id/state', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  @ApiEmptyResponse()
  async setState(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() { files }: StateDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.files.setState(readLeaseHolder(id, token), files, caller);
    return {};
  }

  /** Extends the lease. */
  @Operation('jobs/:id/heartbeat', 'trainer')
  @BeyondQuotas()
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  heartbeat(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Ctx() { caller }: Context,
  ): Promise<HeartbeatAnswerDto> {
    return this.queue.heartbeat(readLeaseHolder(id, token), caller);
  }

  /** Reports the progress of training. The first event is `training_started`. Extends the lease. */
  @Operation('jobs/:id/events', 'trainer')
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  addEvents(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() { events }: TrainerEventsDto,
    @Ctx() { caller }: Context,
  ): Promise<EventsAddedDto> {
    return this.queue.addEvents(readLeaseHolder(id, token), events, caller);
  }

  /** Ends the job with a new checkpoint, or without one when nothing could be learned. */
  @Operation('jobs/:id/complete', 'trainer')
  @BeyondQuotas()
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  complete(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() body: CompleteDto,
    @Ctx() context: Context,
  ): Promise<CompletedDto> {
    return this.queue.complete(readLeaseHolder(id, token), body, context);
  }

  /** Ends the attempt. The job is tried again if the failure is retryable and attempts are left. */
  @Operation('jobs/:id/fail', 'trainer')
  @BeyondQuotas()
  @ApiHeader({ name: LEASE_TOKEN, required: true })
  fail(
    @Param('id') id: string,
    @Headers(LEASE_TOKEN) token: string | undefined,
    @Body() body: FailDto,
    @Ctx() { caller }: Context,
  ): Promise<FailedDto> {
    return this.queue.fail(readLeaseHolder(id, token), body, caller);
  }
}

import { Body, Get, Param, Query, type StreamableFile } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { Idempotent, IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonLines, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonLines } from '../../platform/http/json-rows.js';
import { ApiPage } from '../pages.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import {
  TrainingJobDto,
  TrainingJobEventDto,
  TrainingJobsQueryDto,
  TrajectoriesQueryDto,
} from './training-jobs.dto.js';
import { TrainingJob } from './training-job.entity.js';
import { TrainingJobsService } from './training-jobs.service.js';
import { PageQueryDto, TrainingJobCreatedDto } from '../preview.dto.js';
import { refTo } from '../trajectory-rules.js';

@NoProjectField('a model or a job belongs to one, which TrainingJobsService checks')
@Resource('preview: training jobs', BearerAuth(), 'v1/preview')
export class TrainingJobsController {
  constructor(private readonly jobs: TrainingJobsService) {}

  /** Queues a training job. Returns the same job when the same body is sent again before the job has ended. */
  @Operation('training-jobs', 'writer')
  @IdempotentInHandler()
  @ApiBody({ schema: refTo('TrainingJobCreateDto') })
  create(@Ctx() context: Context): Promise<TrainingJobCreatedDto> {
    return this.jobs.create(context);
  }

  /** Lists the training jobs in the scopes of the key, by default the oldest first. */
  @Get('training-jobs')
  @Allow('reader')
  @ApiPage(TrainingJobDto)
  list(@Query(QueryPipe) query: TrainingJobsQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.jobs.list(query, caller);
  }

  /** Reads a training job. */
  @Get('training-jobs/:id')
  @Allow('reader')
  @ApiJsonResponse({ type: TrainingJobDto })
  read(@Param('id') id: string, @Ctx() { caller }: Context): Promise<string> {
    return this.jobs.read(id, caller);
  }

  /** Cancels a queued job. Requests the trainer of a running job to stop. */
  @Operation('training-jobs/:id/cancel', 'writer')
  @BeyondQuotas()
  @Idempotent({ of: TrainingJob })
  @ApiJsonResponse({ type: TrainingJobDto })
  cancel(@Param('id') id: string, @Ctx() { caller }: Context): Promise<string> {
    return this.jobs.cancel(id, caller);
  }

  /** Lists the events of a training job, the oldest first. The last one is `training_ended` or `training_failed`. */
  @Get('training-jobs/:id/events')
  @Allow('reader')
  @ApiPage(TrainingJobEventDto)
  events(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQueryDto,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.jobs.events(id, query, caller);
  }

  /** Streams the trajectories of a model as they were logged, one JSON object per line, the oldest first. */
  @Operation('trajectories/query', 'reader')
  @ApiJsonLines('StoredTrajectoryDto')
  async trajectories(
    @Body() query: TrajectoriesQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.jobs.trajectories(query, context.caller), context);
  }
}

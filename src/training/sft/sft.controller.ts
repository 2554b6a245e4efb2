import { Body, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import { TrainingJobCreatedDto } from '../preview.dto.js';
import { ApiPage } from '../pages.js';
import { SftJobsService } from './sft-jobs.service.js';
import {
  SftJobCreateDto,
  TrainingDataCreateQueryDto,
  TrainingDataDeletedDto,
  TrainingDataDto,
  TrainingDataQueryDto,
} from './sft.dto.js';
import { JSONL, TrainingDataService } from './training-data.service.js';

@NoProjectField('a model or data belongs to one, which the services check')
@Resource('preview: supervised fine-tuning', BearerAuth(), 'v1/preview')
export class SftController {
  constructor(
    private readonly jobs: SftJobsService,
    private readonly data: TrainingDataService,
  ) {}

  /**
   * Queues a job that trains a model on conversations. Returns the same job when the request is sent again before the
   * job has ended.
   */
  @Operation('sft-training-jobs', 'writer')
  @IdempotentInHandler()
  createJob(
    @Body() body: SftJobCreateDto,
    @Ctx() context: Context,
  ): Promise<TrainingJobCreatedDto> {
    return this.jobs.create(body, context);
  }

  /** Stores conversations for training, byte for byte: JSONL with `{messages, tools?}` per line. */
  @Operation('training-data', 'writer')
  @IdempotentInHandler()
  @ApiConsumes(...JSONL)
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  createData(
    @Query(QueryPipe) query: TrainingDataCreateQueryDto,
    @Ctx() context: Context,
  ): Promise<TrainingDataDto> {
    return this.data.create(query, context);
  }

  /** Lists the training data in the scopes of the key, the oldest first. */
  @Get('training-data')
  @Allow('reader')
  @ApiPage(TrainingDataDto)
  list(@Query(QueryPipe) query: TrainingDataQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.data.list(query, caller);
  }

  /** Deletes training data and the copies in jobs. Jobs that have not ended are cancelled. */
  @Delete('training-data/:id')
  @Allow('writer')
  delete(@Param('id') id: string, @Ctx() { caller }: Context): Promise<TrainingDataDeletedDto> {
    return this.data.delete(id, caller);
  }
}

import { Body, Delete, Get, Param, Query, type StreamableFile } from '@nestjs/common';
import { ApiBody, ApiOkResponse } from '@nestjs/swagger';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { Idempotent, IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import {
  CheckpointsDeletedDto,
  CheckpointsDeleteDto,
  CheckpointsQueryDto,
  CheckpointWithFilesDto,
  ModelCheckpointDto,
  ModelCreateDto,
  ModelDeletedDto,
  ModelDto,
  ModelsQueryDto,
} from './models.dto.js';
import { CheckpointFileQueryDto } from '../manifest.dto.js';
import { Model } from './model.entity.js';
import { ModelsService, newModelProject } from './models.service.js';
import { ApiPage } from '../pages.js';
import { refTo } from '../trajectory-rules.js';
import { rangedAnswer } from '../byte-range.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';

const BYTES = 'application/octet-stream';

@NoProjectField('a model belongs to one, which ModelsService checks')
@Resource('preview: models', BearerAuth(), 'v1/preview/models')
export class ModelsController {
  constructor(private readonly models: ModelsService) {}

  /**
   * Creates a model with its checkpoint of step 0. Answers 409 when the name exists, unless `return_existing` is set.
   */
  @Operation('', 'writer')
  @Idempotent({
    unless: ({ return_existing }: ModelCreateDto) => return_existing === true,
    project: newModelProject,
  })
  create(@Body() body: ModelCreateDto, @Ctx() { caller }: Context): Promise<ModelDto> {
    return this.models.create(body, caller);
  }

  /** Lists the models in the scopes of the key, the oldest first. */
  @Get()
  @Allow('reader')
  @ApiPage(ModelDto)
  list(@Query(QueryPipe) query: ModelsQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.models.list(query, caller);
  }

  /** Deletes a model with its checkpoints and trajectories. Training jobs that have not ended are cancelled. */
  @Delete(':id')
  @Allow('writer')
  @Idempotent({ of: Model })
  delete(@Param('id') id: string, @Ctx() { caller }: Context): Promise<ModelDeletedDto> {
    return this.models.delete(id, caller);
  }

  /** Lists the checkpoints of a model by step. */
  @Get(':id/checkpoints')
  @Allow('reader')
  @ApiPage(ModelCheckpointDto)
  checkpoints(
    @Param('id') id: string,
    @Query(QueryPipe) query: CheckpointsQueryDto,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.models.checkpoints(id, query, caller);
  }

  /** Reads a checkpoint with its files. */
  @Get(':id/checkpoints/:step')
  @Allow('reader')
  @ApiJsonResponse({ type: CheckpointWithFilesDto })
  checkpoint(
    @Param('id') id: string,
    @Param('step') step: string,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.models.checkpoint(id, step, caller);
  }

  /** Streams a file of a checkpoint. Supports the header `Range`. */
  @Get(':id/checkpoints/:step/file')
  @Allow('reader')
  @ApiOkResponse({ content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } })
  async checkpointFile(
    @Param('id') id: string,
    @Param('step') step: string,
    @Query(QueryPipe) { name }: CheckpointFileQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return rangedAnswer(context, await this.models.checkpointFile(id, step, name, context), BYTES);
  }

  /** Deletes the checkpoints of the given steps. The latest checkpoint is kept. */
  @Delete(':id/checkpoints')
  @Allow('writer')
  @Idempotent({ of: Model })
  deleteCheckpoints(
    @Param('id') id: string,
    @Body() { steps }: CheckpointsDeleteDto,
    @Ctx() { caller }: Context,
  ): Promise<CheckpointsDeletedDto> {
    return this.models.deleteCheckpoints(id, steps, caller);
  }

  /** Stores trajectory groups, and merges their metrics into the latest checkpoint under the name of the split. */
  @Operation(':model_id/log', 'writer')
  @IdempotentInHandler()
  @ApiBody({ schema: refTo('LogDto') })
  @ApiEmptyResponse()
  log(@Param('model_id') id: string, @Ctx() context: Context): Promise<object> {
    return this.models.log(id, context);
  }
}

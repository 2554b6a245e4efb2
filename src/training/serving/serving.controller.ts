import { Body, Get, Param, Query, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  Allow,
  BearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import { rangedAnswer } from '../byte-range.js';
import { CheckpointFileQueryDto } from '../manifest.dto.js';
import { ModelsService } from '../models/models.service.js';
import { ApiPage } from '../pages.js';
import { refTo } from '../trajectory-rules.js';
import {
  ServableModelDto,
  ServableQueryDto,
  ServedDto,
  ServingAnswerDto,
  ServingDto,
} from './serving.dto.js';
import { ServingService } from './serving.service.js';

const BYTES = 'application/octet-stream';

/** The API of servers of models, besides the API of trainers. */
@NoProjectField('a model belongs to one, which ModelsService checks')
@Resource('preview: servers', BearerAuth(), 'v1/preview/trainer')
export class ServingController {
  constructor(
    private readonly serving: ServingService,
    private readonly models: ModelsService,
  ) {}

  /** Reports that a provider serves a checkpoint, or still serves it. */
  @Operation('serving', 'trainer')
  @BeyondQuotas()
  begin(@Body() body: ServingDto, @Ctx() { caller }: Context): Promise<ServingAnswerDto> {
    return this.serving.begin(body, caller);
  }

  /** Reports that a provider no longer serves a checkpoint. */
  @Operation('serving/end', 'trainer')
  @BeyondQuotas()
  @ApiEmptyResponse()
  async end(@Body() body: ServedDto, @Ctx() { caller }: Context): Promise<object> {
    await this.serving.end(body, caller);
    return {};
  }

  /** Lists the models in the scopes of the key, with their newest checkpoints. */
  @Get('models')
  @Allow('trainer')
  @ApiPage(ServableModelDto)
  list(@Query(QueryPipe) query: ServableQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.serving.servable(query, caller);
  }

  /** Reads a checkpoint with its files. */
  @Get('models/:id/checkpoints/:step/files')
  @Allow('trainer')
  @ApiJsonResponse({ schema: refTo('CheckpointWithFilesDto') })
  files(
    @Param('id') id: string,
    @Param('step') step: string,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.models.checkpoint(id, step, caller);
  }

  /** Streams a file of a checkpoint. Supports the header `Range`. */
  @Get('models/:id/checkpoints/:step/file')
  @Allow('trainer')
  @ApiOkResponse({ content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } })
  async file(
    @Param('id') id: string,
    @Param('step') step: string,
    @Query(QueryPipe) { name }: CheckpointFileQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return rangedAnswer(context, await this.models.checkpointFile(id, step, name, context), BYTES);
  }
}

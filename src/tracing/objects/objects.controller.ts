import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { valueAt } from '../../platform/json/json-text.js';
import {
  ObjectAnswerDto,
  ObjectCreateBodyDto,
  ObjectCreatedDto,
  ObjectDeleteDto,
  ObjectReadDto,
  ObjectsAnswerDto,
  ObjectsDeletedDto,
  ObjectsQueryDto,
  RefsAnswerDto,
  RefsReadDto,
} from './objects.dto.js';
import { ObjectsService } from './objects.service.js';
import { RefsService } from './refs.service.js';

@Resource('objects', BasicAuth())
export class ObjectsController {
  constructor(
    private readonly objects: ObjectsService,
    private readonly refs: RefsService,
  ) {}

  /** Publishes a value under a name. A value that exists already becomes the latest version again. */
  @Operation('obj/create', 'writer')
  @Idempotent()
  createObject(
    @Body() { obj }: ObjectCreateBodyDto,
    @Ctx() { text, caller }: Context,
  ): Promise<ObjectCreatedDto> {
    return this.objects.create(obj, valueAt(text, 'obj', 'val'), caller);
  }

  /** Reads one version of an object. 404 when it does not exist; with `deleted_at` when it was deleted. */
  @Operation('obj/read', 'reader')
  @ApiJsonResponse({ type: ObjectAnswerDto })
  async readObject(@Body() query: ObjectReadDto): Promise<string> {
    return `{"obj":${await this.objects.read(query)}}`;
  }

  /** Deletes versions of an object: all named versions or, if one does not exist, none; without names, all versions. */
  @Operation('obj/delete', 'writer')
  @BeyondQuotas()
  @Idempotent()
  deleteObject(
    @Body() body: ObjectDeleteDto,
    @Ctx() { caller }: Context,
  ): Promise<ObjectsDeletedDto> {
    return this.objects.delete(body, caller);
  }

  /** Lists the live versions of a project's objects, by default the oldest first. */
  @Operation('objs/query', 'reader')
  @ApiOkResponse({ type: ObjectsAnswerDto })
  async queryObjects(
    @Body() query: ObjectsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonArray(await this.objects.stream(query), context, 'objs');
  }

  /**
   * Reads values by their refs. A ref may lead into the value with pairs of attr/<key>, key/<key>, index/<n> and
   * id/<row digest>.
   */
  @Operation('refs/read_batch', 'reader')
  @NoProjectField('each ref names its own, which RefsService checks')
  @ApiOkResponse({ type: RefsAnswerDto })
  async readRefs(@Body() { refs }: RefsReadDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.refs.stream(refs, context.caller), context, 'vals');
  }
}

import { Body, Get, Param, Put, Query, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Allow, BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../../platform/auth/limits/admission.js';
import { Idempotent } from '../../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { jsonArray } from '../../../platform/http/json-rows.js';
import { QueryPipe } from '../../../platform/http/query.pipe.js';
import {
  AliasesAnswerDto,
  AliasesRemoveDto,
  AliasesSetDto,
  LabelsQueryDto,
  ObjectPathDto,
  TagsAnswerDto,
  TagsDto,
  VersionPathDto,
} from './labels.dto.js';
import { LabelsService } from './labels.service.js';

@Resource('objects', BasicAuth())
export class LabelsController {
  constructor(private readonly labels: LabelsService) {}

  /** Adds tags to a version, which keeps its other tags. */
  @Put('objs/:object_id/versions/:digest/tags')
  @Allow('writer')
  @Idempotent()
  @ApiEmptyResponse()
  async addTags(
    @Param(QueryPipe) path: VersionPathDto,
    @Body() body: TagsDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.labels.addTags(path, body, caller);
    return {};
  }

  /** Removes tags from a version. Tags that it does not have are ignored. */
  @Operation('objs/:object_id/versions/:digest/tags/remove', 'writer')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async removeTags(
    @Param(QueryPipe) path: VersionPathDto,
    @Body() body: TagsDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.labels.removeTags(path, body, caller);
    return {};
  }

  /**
   * Sets aliases of a version, which can then be used instead of its digest. An alias of another version moves to this
   * one.
   */
  @Put('objs/:object_id/aliases')
  @Allow('writer')
  @Idempotent()
  @ApiEmptyResponse()
  async setAliases(
    @Param(QueryPipe) path: ObjectPathDto,
    @Body() body: AliasesSetDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.labels.setAliases(path, body, caller);
    return {};
  }

  /** Removes aliases from all versions of an object. Aliases that do not exist are ignored. */
  @Operation('objs/:object_id/aliases/remove', 'writer')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async removeAliases(
    @Param(QueryPipe) path: ObjectPathDto,
    @Body() body: AliasesRemoveDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.labels.removeAliases(path, body, caller);
    return {};
  }

  /** Lists the tags of a project, sorted. */
  @Get('tags')
  @Allow('reader')
  @ApiOkResponse({ type: TagsAnswerDto })
  async listTags(
    @Query(QueryPipe) query: LabelsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonArray(await this.labels.tags(query), context, 'tags');
  }

  /** Lists the aliases of a project, sorted. */
  @Get('aliases')
  @Allow('reader')
  @ApiOkResponse({ type: AliasesAnswerDto })
  async listAliases(
    @Query(QueryPipe) query: LabelsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonArray(await this.labels.aliases(query), context, 'aliases');
  }
}

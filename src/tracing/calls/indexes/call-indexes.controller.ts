import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../../platform/auth/limits/admission.js';
import { Idempotent } from '../../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import {
  CallIndexAnswerDto,
  CallIndexDto,
  CallIndexesDto,
  CallIndexesQueryDto,
} from './call-indexes.dto.js';
import { CallIndexesService } from './call-indexes.service.js';

@Resource('calls', BasicAuth(), 'index')
export class CallIndexesController {
  constructor(private readonly indexes: CallIndexesService) {}

  /** Creates an index on a path in the documents of calls, in the background. Queries use it as soon as it is ready. */
  @Operation('create', 'admin')
  @Idempotent()
  async create(
    @Body() body: CallIndexDto,
    @Ctx() { caller }: Context,
  ): Promise<CallIndexAnswerDto> {
    return { index: await this.indexes.create(body, caller) };
  }

  /** Lists the indexes on fields of a project, the oldest first. */
  @Operation('list', 'admin')
  @BeyondQuotas()
  async list(@Body() { project_id }: CallIndexesQueryDto): Promise<CallIndexesDto> {
    return { indexes: await this.indexes.list(project_id) };
  }

  /** Drops an index, in the background. */
  @Operation('delete', 'admin')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async delete(@Body() body: CallIndexDto, @Ctx() { caller }: Context): Promise<object> {
    await this.indexes.delete(body, caller);
    return {};
  }
}

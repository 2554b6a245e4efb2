import { Body, Controller, HttpCode, HttpStatus, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Allow, BasicAuth } from '../../auth/access.js';
import { Idempotent } from '../../auth/idempotency.js';
import { callerOf } from '../../common/caller-of.js';
import {
  CallIndexAnswerDto,
  CallIndexDto,
  CallIndexesDto,
  CallIndexesQueryDto,
} from './call-indexes.dto.js';
import { CallIndexesService } from './call-indexes.service.js';

@ApiTags('calls')
@BasicAuth()
@Allow('admin')
@Controller('index')
export class CallIndexesController {
  constructor(private readonly indexes: CallIndexesService) {}

  /** Makes a path into the documents of calls an index, in the background. Queries use it by themselves once it is ready. */
  @Post('create')
  @HttpCode(HttpStatus.OK)
  @Idempotent()
  async create(@Body() body: CallIndexDto, @Req() request: Request): Promise<CallIndexAnswerDto> {
    return { index: await this.indexes.create(body, callerOf(request)) };
  }

  /** The indexes on fields of a project, the oldest first. */
  @Post('list')
  @HttpCode(HttpStatus.OK)
  async list(@Body() { project_id }: CallIndexesQueryDto): Promise<CallIndexesDto> {
    return { indexes: await this.indexes.list(project_id) };
  }

  /** Drops an index, in the background. */
  @Post('delete')
  @HttpCode(HttpStatus.OK)
  @Idempotent()
  async delete(@Body() body: CallIndexDto, @Req() request: Request): Promise<object> {
    await this.indexes.delete(body, callerOf(request));
    return {};
  }
}

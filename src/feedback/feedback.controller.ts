import {
  Body,
  Controller,
  Header,
  HttpCode,
  HttpStatus,
  Post,
  Req,
  type StreamableFile,
} from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Allow, BasicAuth } from '../auth/access.js';
import { Idempotency, IdempotencyHeader } from '../auth/idempotency.js';
import { jsonArray } from '../common/json-rows.js';
import { elementSpans, valueAt } from '../common/json-text.js';
import {
  FeedbackBatchCreatedDto,
  FeedbackBatchDto,
  FeedbackCreateDto,
  FeedbackCreatedDto,
  FeedbackFoundDto,
  FeedbackPurgeDto,
  FeedbackQueryDto,
  FeedbackReplaceDto,
} from './feedback.dto.js';
import { FeedbackService } from './feedback.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';

@ApiTags('feedback')
@BasicAuth()
@Controller('feedback')
export class FeedbackController {
  constructor(
    private readonly feedback: FeedbackService,
    private readonly idempotency: Idempotency,
  ) {}

  /** Attaches feedback to the item behind a ref. With an id of the client's own it may be repeated. */
  @Post('create')
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  @IdempotencyHeader()
  @Header('Content-Type', JSON_TYPE)
  @ApiOkResponse({ type: FeedbackCreatedDto })
  create(@Body() body: FeedbackCreateDto, @Req() request: Request): Promise<string> {
    const write = () => this.feedback.create(body, request.bodyText, request.user!);
    return this.idempotency.once(request, write, typeof body.id === 'string');
  }

  /** Attaches up to 1000 pieces of feedback: all of them, or none when one is refused. */
  @Post('batch/create')
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  @IdempotencyHeader()
  @Header('Content-Type', JSON_TYPE)
  @ApiOkResponse({ type: FeedbackBatchCreatedDto })
  createAll(@Body() { batch }: FeedbackBatchDto, @Req() request: Request): Promise<string> {
    const write = async () => {
      const list = valueAt(request.bodyText, 'batch');
      const texts = elementSpans(list, 0).map((span) => list.slice(...span));
      const created = await this.feedback.createAll(batch, texts, request.user!);
      return `{"res":[${created.join(',')}]}`;
    };
    const haveOwnIds = batch.every(({ id }) => typeof id === 'string');
    return this.idempotency.once(request, write, haveOwnIds);
  }

  /** Lists feedback of a project, by default the oldest first. `total_count` counts all pages. */
  @Post('query')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @ApiOkResponse({ type: FeedbackFoundDto })
  async query(@Body() query: FeedbackQueryDto, @Req() request: Request): Promise<StreamableFile> {
    const { rows, totalCount } = await this.feedback.query(query);
    return jsonArray(rows, request, 'result', `"total_count":${totalCount}`);
  }

  /** Deletes the feedback of a project that a query holds for. */
  @Post('purge')
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  async purge(@Body() body: FeedbackPurgeDto): Promise<object> {
    await this.feedback.purge(body);
    return {};
  }

  /** Deletes one piece of feedback and creates another in its place. */
  @Post('replace')
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  @IdempotencyHeader()
  @Header('Content-Type', JSON_TYPE)
  @ApiOkResponse({ type: FeedbackCreatedDto })
  replace(@Body() body: FeedbackReplaceDto, @Req() request: Request): Promise<string> {
    const write = () => this.feedback.replace(body, request.bodyText, request.user!);
    return this.idempotency.once(request, write);
  }
}

import { Body, Delete, Get, Param, Put, Query, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Allow, BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonLines, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray, jsonLines } from '../../platform/http/json-rows.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import {
  AnnotationItemAnswerDto,
  AnnotationItemsAddDto,
  AnnotationItemsAddedDto,
  AnnotationItemsFoundDto,
  AnnotationItemsQueryDto,
  AnnotationNextAnswerDto,
  AnnotationNextDto,
  AnnotationProgressDto,
  AnnotationQueueAnswerDto,
  AnnotationQueueCreatedDto,
  AnnotationQueueCreateDto,
  AnnotationQueueDto,
  AnnotationQueueReadDto,
  AnnotationQueuesQueryDto,
  AnnotationQueueUpdateDto,
  AnnotationStatsDto,
  AnnotationStatsQueryDto,
} from './annotation.dto.js';
import { AnnotationItemsService } from './annotation-items.service.js';
import { AnnotationQueuesService } from './annotation-queues.service.js';

@Resource('annotation', BasicAuth(), 'annotation_queues')
export class AnnotationQueuesController {
  constructor(
    private readonly queues: AnnotationQueuesService,
    private readonly items: AnnotationItemsService,
  ) {}

  /** Creates a queue of calls for people to judge. */
  @Operation('', 'writer')
  @Idempotent()
  create(
    @Body() body: AnnotationQueueCreateDto,
    @Ctx() { caller }: Context,
  ): Promise<AnnotationQueueCreatedDto> {
    return this.queues.create(body, caller);
  }

  /** Streams the queues of a project, one JSON object per line, by default the newest first. */
  @Operation('query', 'reader')
  @ApiJsonLines(AnnotationQueueDto)
  async query(
    @Body() query: AnnotationQueuesQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.queues.stream(query), context);
  }

  /** Counts the items of queues, and how many of them are done. */
  @Operation('stats', 'reader')
  stats(@Body() query: AnnotationStatsQueryDto): Promise<AnnotationStatsDto> {
    return this.queues.stats(query);
  }

  /** Reads a queue. */
  @Get(':queue_id')
  @Allow('reader')
  @ApiJsonResponse({ type: AnnotationQueueAnswerDto })
  read(
    @Param('queue_id') id: string,
    @Query(QueryPipe) { project_id }: AnnotationQueueReadDto,
  ): Promise<string> {
    return this.queues.read(project_id, id);
  }

  /** Changes the name, the description or the scorers of a queue. */
  @Put(':queue_id')
  @Allow('writer')
  @Idempotent()
  @ApiJsonResponse({ type: AnnotationQueueAnswerDto })
  update(@Param('queue_id') id: string, @Body() body: AnnotationQueueUpdateDto): Promise<string> {
    return this.queues.update(id, body);
  }

  /** Deletes a queue. Feedback that was given in it remains. */
  @Delete(':queue_id')
  @Allow('writer')
  @Idempotent()
  @ApiJsonResponse({ type: AnnotationQueueAnswerDto })
  delete(
    @Param('queue_id') id: string,
    @Query(QueryPipe) { project_id }: AnnotationQueueReadDto,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.queues.delete(project_id, id, caller);
  }

  /** Adds calls at the end of a queue, in their order. Calls that are in the queue already keep their positions. */
  @Operation(':queue_id/items', 'writer')
  @Idempotent()
  add(
    @Param('queue_id') id: string,
    @Body() body: AnnotationItemsAddDto,
    @Ctx() { caller }: Context,
  ): Promise<AnnotationItemsAddedDto> {
    return this.items.add(id, body, caller);
  }

  /** Lists the items of a queue, by default in its order. */
  @Operation(':queue_id/items/query', 'reader')
  @ApiOkResponse({ type: AnnotationItemsFoundDto })
  async queryItems(
    @Param('queue_id') id: string,
    @Body() query: AnnotationItemsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonArray(await this.items.stream(id, query), context, 'items');
  }

  /**
   * Returns the item that the caller has begun. Otherwise begins the first item that nobody has begun, and returns it.
   * Concurrent callers get different items.
   */
  @Operation(':queue_id/items/next', 'writer')
  @Idempotent()
  @ApiJsonResponse({ type: AnnotationNextAnswerDto })
  next(
    @Param('queue_id') id: string,
    @Body() { project_id }: AnnotationNextDto,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.items.next(id, project_id, caller);
  }

  /** Records that the caller has begun, completed or skipped an item. */
  @Operation(':queue_id/items/:item_id/progress', 'writer')
  @Idempotent()
  @ApiJsonResponse({ type: AnnotationItemAnswerDto })
  progress(
    @Param('queue_id') queueId: string,
    @Param('item_id') itemId: string,
    @Body() body: AnnotationProgressDto,
    @Ctx() { caller }: Context,
  ): Promise<string> {
    return this.items.progress({ queueId, itemId }, body, caller);
  }
}

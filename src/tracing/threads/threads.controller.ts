import { Body, type StreamableFile } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { ApiJsonLines, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonLines } from '../../platform/http/json-rows.js';
import { ThreadDto, ThreadsQueryDto, TurnTextsDto, TurnTextsFoundDto } from './threads.dto.js';
import { ThreadsService } from './threads.service.js';
import { TurnTextsService } from './turn-texts.service.js';

@Resource('threads', BasicAuth())
export class ThreadsController {
  constructor(
    private readonly threads: ThreadsService,
    private readonly texts: TurnTextsService,
  ) {}

  /**
   * Streams the statistics of threads over their turns, one JSON object per line. By default the newest thread is
   * first.
   */
  @Operation('threads/stream_query', 'reader')
  @ApiJsonLines(ThreadDto)
  async streamQuery(
    @Body() query: ThreadsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.threads.stream(query), context);
  }

  /**
   * Returns the questions and answers of turns. If the call of a turn has none itself, they are the first question and
   * the last answer of the calls below it.
   */
  @Operation('threads/turns/query', 'reader')
  @ApiJsonResponse({ type: TurnTextsFoundDto })
  queryTurns(@Body() body: TurnTextsDto): Promise<string> {
    return this.texts.query(body);
  }
}

import { Body, type StreamableFile } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access.js';
import { ApiJsonLines } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonLines } from '../../platform/http/json-rows.js';
import { ThreadDto, ThreadsQueryDto } from './threads.dto.js';
import { ThreadsService } from './threads.service.js';

@Resource('threads', BasicAuth())
export class ThreadsController {
  constructor(private readonly threads: ThreadsService) {}

  /** Streams the statistics of threads over their turn calls, one JSON object per line, by default the newest first. */
  @Operation('threads/stream_query', 'reader')
  @ApiJsonLines(ThreadDto)
  async streamQuery(
    @Body() query: ThreadsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.threads.stream(query), context);
  }
}

import type { ServerResponse } from 'node:http';
import { Get, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse } from '@nestjs/swagger';
import { Allow, BasicOrBearerAuth, Resource } from '../auth/access-decorators.js';
import { Context, Ctx } from '../http/context.js';
import { QueryPipe } from '../http/query.pipe.js';
import { EVENT_STREAM } from './event-stream.js';
import { EventsQueryDto, TickDto } from './events.dto.js';
import { EventsService } from './events.service.js';

@Resource('events', BasicOrBearerAuth(), 'events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  /**
   * Server-sent events. A `tick` names the kinds of data that have changed in the project, at most every 250 ms. The
   * first tick, and one each minute, names all kinds, because changes may have been missed.
   */
  @Get()
  @Allow('reader')
  @ApiExtraModels(TickDto)
  @ApiOkResponse({
    content: {
      [EVENT_STREAM]: {
        schema: { type: 'string', example: 'event: tick\ndata: {"kinds":["calls"]}\n\n' },
      },
    },
  })
  watch(
    @Query(QueryPipe) { project_id }: EventsQueryDto,
    @Ctx() { caller }: Context,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.events.watch(project_id, caller, response);
  }
}
